/** The lab: what it costs to advance embedded clusters, at rest and with a CronJob. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { LabFigures } from './lab-run.ts'
import { plainRow, quantile, type Row } from './rows.ts'

const runs = 5

export function measureLab(root: string): Row[] {
  const args = [join(root, 'scripts/bench/lab-run.ts'), join(root, 'dist/library.js')]
  const all = Array.from({ length: runs }, (): LabFigures =>
    JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })),
  )
  const row = (name: string, of: (figures: LabFigures) => number, unit = 'processor time'): Row => {
    const values = all.map(of).toSorted((one, other) => one - other)
    const shown = (ms: number): string =>
      ms < 1000 ? `${ms.toFixed()} ms` : `${(ms / 1000).toFixed(1)} s`
    const best = `${unit}, best ${shown(values[0] ?? 0)} of ${runs}`
    return plainRow(name, shown(quantile(values, 0.5)), best)
  }
  return [
    row('lab: 40 s, three nodes', ({ graceMs }) => graceMs),
    row('lab: an hour at rest, three nodes', ({ hourMs }) => hourMs),
    row("lab: an hourly CronJob's week, one node", ({ cronWeekMs }) => cronWeekMs),
    row('lab: the same, real time', ({ cronWeekTookMs }) => cronWeekTookMs, 'real time'),
  ]
}
