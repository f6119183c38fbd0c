/** Counts of zero are absent on the wire. */
export function nonZero<K extends string>(
  counts: Readonly<Record<K, number>>,
): Partial<Record<K, number>> {
  const shown = Object.entries<number>(counts).filter(([, count]) => count !== 0)
  return Object.fromEntries(shown) as Partial<Record<K, number>>
}
