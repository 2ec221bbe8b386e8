// Counts calls of malloc, calloc and realloc in this program. Only the benchmark links this.
#pragma once
long allocations_so_far(void);
// The same of the calling thread alone.
long allocations_of_thread(void);
