// Counts calls of malloc, calloc and realloc in this program. Only the benchmark links this.
#pragma once
long allocations_so_far(void);
