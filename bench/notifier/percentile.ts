/** The value below which this fraction of sorted values lies; 0 without values. */
export function percentileOf(sorted: readonly number[], fraction: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0
}
