# SPDX-License-Identifier: Apache-2.0
"""What scripts/run-tests is made of: what there is to run, processes that are watched, programs of cases, workers, and the closing lines."""
