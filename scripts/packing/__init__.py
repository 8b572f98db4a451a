# SPDX-License-Identifier: Apache-2.0
"""What scripts/wheels makes besides wheels."""
