# SPDX-License-Identifier: Apache-2.0
"""What scripts/cuda/check-build reads out of the compiler's log and out of machine code, and what it accepts."""
