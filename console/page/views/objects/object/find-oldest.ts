/** findOldest: the oldest revision that a server still shows. Pure but for its probe. */

/** Each probe is a request. */
const mostProbes = 16

/**
 * `isThere` says whether history reaches a revision. Returns the oldest one that was seen to be there, near the true one, and `newest` when
 * nothing older is.
 */
export async function findOldest(
  newest: number,
  isThere: (revision: number) => Promise<boolean>,
): Promise<number> {
  if (newest <= 1 || (await isThere(1))) return 1
  let [gone, there] = [1, newest]
  for (let probe = 1; probe < mostProbes && there - gone > 1; probe += 1) {
    const middle = Math.floor((gone + there) / 2)
    if (await isThere(middle)) there = middle
    else gone = middle
  }
  return there
}
