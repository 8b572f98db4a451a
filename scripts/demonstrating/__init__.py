# SPDX-License-Identifier: Apache-2.0
"""What scripts/demo is made of: its documents, the programs that it runs, and the figures that it shows."""
