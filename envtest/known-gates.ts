/** KnownGates: `--feature-gates` without the gates of upstream's that our API server does not have. */
import { featureGates } from '../components/api/feature-gates.ts'
import type { Log } from '../components/component-base/log.ts'

const known = new Set(['AllAlpha', 'AllBeta', ...Object.keys(featureGates)])

/** What is left of the text; the log names the others. */
export function knownGates(text: string, log: Log): string {
  const items = text.split(',').filter((item) => item.trim() !== '')
  const nameOf = (item: string): string => (item.split('=')[0] ?? '').trim()
  const others = items.filter((item) => !known.has(nameOf(item)))
  if (others.length > 0) log.warn('feature gates without effect', { gates: others })
  return items.filter((item) => known.has(nameOf(item))).join(',')
}
