# SPDX-License-Identifier: Apache-2.0
"""What scripts/device-check is made of: a parent without a GPU, and parts, each a process with a limit of time, that say what they find as lines of
JSON."""
