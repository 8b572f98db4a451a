// SPDX-License-Identifier: Apache-2.0
//! How deep a regular expression nests repetitions without an end. One attempt to match goes over the text as often as its length to the
//! power of that depth, less one, without going back: what goes back is counted by the engine, what goes ahead is not.

/// A higher count is as good as no end: the engine allows 100,000.
const HIGHEST_COUNT: u32 = 16;

struct Walk<'a> {
    rest: std::str::Chars<'a>,
    /// The depth of every open group so far.
    groups: Vec<u32>,
    /// The depth of the last item.
    last: u32,
}

/// What ends the walk: references, recursion and other rarities.
struct Doubt;

impl Walk<'_> {
    fn eat(&mut self, wanted: char) -> bool {
        let found = self.rest.as_str().starts_with(wanted);
        if found {
            self.rest.next();
        }
        found
    }

    /// Passes over what follows up to `end`.
    fn skip_to(&mut self, end: char) -> Result<(), Doubt> {
        self.rest.find(|letter| *letter == end).map(|_| ()).ok_or(Doubt)
    }

    fn escape(&mut self) -> Result<(), Doubt> {
        match self.rest.next().ok_or(Doubt)? {
            // References, and control characters that may be brackets.
            '1'..='9' | 'k' | 'g' | 'X' | 'c' | 'C' | 'M' => return Err(Doubt),
            'p' | 'P' | 'x' | 'o' | 'u' if self.eat('{') => self.skip_to('}')?,
            _ => {}
        }
        self.last = 0;
        Ok(())
    }

    fn class(&mut self) -> Result<(), Doubt> {
        self.eat('^');
        self.eat(']');
        let mut depth = 1;
        while depth > 0 {
            match self.rest.next().ok_or(Doubt)? {
                '[' => depth += 1,
                ']' => depth -= 1,
                '\\' => self.escape()?,
                _ => {}
            }
        }
        self.last = 0;
        Ok(())
    }

    fn open(&mut self) -> Result<(), Doubt> {
        if self.rest.as_str().starts_with('*') {
            return Err(Doubt);
        }
        if self.eat('?') {
            match self.rest.next().ok_or(Doubt)? {
                ':' | '>' | '=' | '!' => {}
                '<' if self.eat('=') || self.eat('!') => {}
                '<' => self.skip_to('>')?,
                'i' | 'm' | '-' => return self.options(),
                _ => return Err(Doubt),
            }
        }
        self.groups.push(0);
        Ok(())
    }

    /// "(?im-" and what follows: a group, or options for the rest of the one around.
    fn options(&mut self) -> Result<(), Doubt> {
        loop {
            match self.rest.next().ok_or(Doubt)? {
                'i' | 'm' | '-' => {}
                ':' => break self.groups.push(0),
                ')' => break,
                _ => return Err(Doubt),
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Doubt> {
        let depth = self.groups.pop().ok_or(Doubt)?;
        self.last = 0;
        self.deepen(depth)
    }

    /// The last item has this depth.
    fn deepen(&mut self, depth: u32) -> Result<(), Doubt> {
        self.last = depth;
        let group = self.groups.last_mut().ok_or(Doubt)?;
        *group = depth.max(*group);
        Ok(())
    }

    fn repeat(&mut self) -> Result<(), Doubt> {
        // Lazy and possessive forms.
        let _ = self.eat('?') || self.eat('+');
        self.deepen(self.last + 1)
    }

    /// "{2,}" is without an end, "{2,3}" is not, and "{a" is no repetition. A "+" behind braces is a repetition of its own:
    /// they have no possessive form.
    fn braces(&mut self) -> Result<(), Doubt> {
        let text = self.rest.as_str();
        let Some((inside, _)) = text.split_once('}') else {
            self.last = 0;
            return Ok(());
        };
        let counts = inside.chars().all(|letter| letter.is_ascii_digit() || letter == ',');
        if !counts {
            self.last = 0;
            return Ok(());
        }
        self.skip_to('}')?;
        let _ = self.eat('?');
        let most = inside.rsplit(',').next().and_then(|count| count.parse::<u32>().ok());
        if most.is_some_and(|most| most <= HIGHEST_COUNT) {
            Ok(())
        } else {
            self.deepen(self.last + 1)
        }
    }

    fn run(&mut self) -> Result<(), Doubt> {
        while let Some(letter) = self.rest.next() {
            match letter {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.open()?,
                ')' => self.close()?,
                '*' | '+' => self.repeat()?,
                '{' => self.braces()?,
                '?' => {
                    let _ = self.eat('?') || self.eat('+');
                }
                _ => self.last = 0,
            }
        }
        if self.groups.len() == 1 { Ok(()) } else { Err(Doubt) }
    }
}

/// The depth; nothing for an expression that the walk does not understand.
pub fn depth(pattern: &str) -> Option<u32> {
    let mut walk = Walk {
        rest: pattern.chars(),
        groups: vec![0],
        last: 0,
    };
    walk.run().ok()?;
    walk.groups.pop()
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn rules_of_real_tokenizers_do_not_nest() {
        for pattern in [
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}]*[\p{Ll}\p{Lm}]+(?i:'s|'t)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r" ?[^(\s|[.,!?…。，、।۔،])]+",
            r" {2,}",
            r"\d{1,3}(?=(?:\d{3})*\b)",
            r"(?=(\d{3})+(?!\d))",
            r"(?<number>\d+)[][:alpha:]]*(a|b?)",
        ] {
            assert_eq!(depth(pattern), Some(1), "{pattern}");
        }
    }

    #[test]
    fn repetitions_in_repetitions_are_counted() {
        for pattern in ["(a+)+", "(?:x*y|x)*z", "(?:(?=[^b]*+)a)*b", "a{2,}{3,}", "a{2,}+", "(a{0,100000})*", "(a{2,})*", "(?i)(a+b)+", "(?<=a+)*"] {
            assert_eq!(depth(pattern), Some(2), "{pattern}");
        }
        assert_eq!(depth("((a+b)*c)+"), Some(3));
        assert_eq!(depth("a{2,3}b?"), Some(0));
        for pattern in [r"(a*)\1", r"(?<p>a\g<p>|b)", "(?~abc)", "(?x) ( # ) \n a", "(", ")", "[a", "(*FAIL)", r"(\c)a+\c()+"] {
            assert_eq!(depth(pattern), None, "{pattern}");
        }
    }
}
