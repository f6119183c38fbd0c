/** violation-text: violations and summaries as lines for people. */
import type { MonitorSummary } from './run-monitors.ts'
import type { Violation, Writer } from './monitor.ts'

export function writerText({
  revision,
  user,
  userAgent,
  verb,
  subresource,
  managers,
}: Writer): string {
  if (user === undefined)
    return `revision ${revision}: ${(managers ?? []).join(', ')} (field manager)`
  const what = subresource === undefined || subresource === '' ? verb : `${verb} ${subresource}`
  return `revision ${revision}: ${user} (${userAgent}), ${what}`
}

/** The sentence with its monitor, and who wrote. */
export function violationLines({ monitor, text, writers }: Violation): string[] {
  return [`${monitor}: ${text}`, ...writers.map((one) => `  ${writerText(one)}`)]
}

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

export function summaryText({ monitors, changes, writes, durationMs }: MonitorSummary): string {
  const found = monitors.filter(({ violations }) => violations > 0)
  const total = found.reduce((sum, { violations }) => sum + violations, 0)
  const seen = `${plural(changes, 'change')} and ${plural(writes, 'write')} in ${Math.round(durationMs / 1000)} s`
  const by = found.map(({ name, violations }) => `${name} ${violations}`).join(', ')
  return total === 0
    ? `no violation: ${plural(monitors.length, 'monitor')} judged ${seen}`
    : `${plural(total, 'violation')} (${by}): ${plural(monitors.length, 'monitor')} judged ${seen}`
}
