/** Embedded clusters as a test runner meets them: starts, forks, resets, the cost of a namespace, and what the process holds. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { EmbeddedFigures } from './embedded-run.ts'
import { plainRow, quantile, type Row } from './rows.ts'

const runs = 5

/** How long the first test of a file waits for its cluster. */
function firstWaitMs(root: string): number {
  const built = (name: string): string => join(root, 'dist', name)
  const args = [join(root, 'scripts/bench/fixtures-run.ts'), built('library.js')]
  const said = execFileSync(process.execPath, [...args, built('node-test.js')], {
    encoding: 'utf8',
  })
  // node:test reports on the same stream.
  return JSON.parse(said.split('\n', 1)[0] ?? '').waitedMs
}

export async function measureEmbedded(root: string): Promise<Row[]> {
  const all: EmbeddedFigures[] = []
  for (let run = 0; run < runs; run += 1) {
    const args = [join(root, 'scripts/bench/embedded-run.ts'), join(root, 'dist/library.js')]
    all.push(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })))
  }
  const row = (name: string, of: keyof EmbeddedFigures, unit = 'ms'): Row => {
    const values = all.map((figures) => figures[of])
    const shown = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`
    return plainRow(name, shown(quantile(values, 0.5)), `best ${shown(values[0] ?? 0)} of ${runs}`)
  }
  const waited = Array.from({ length: runs }, () => firstWaitMs(root)).toSorted((a, b) => a - b)
  return [
    plainRow(
      'embedded: first start, 200 ms after the fixtures',
      `${quantile(waited, 0.5).toFixed()} ms`,
      `best ${waited[0]?.toFixed()} ms of ${runs}`,
    ),
    row('embedded: import and first start, one node', 'coldMs'),
    row('embedded: another start', 'warmMs'),
    row('embedded: reset', 'resetMs'),
    row('embedded: fork of 5,000 objects', 'forkMs'),
    row('embedded: 100 such forks side by side', 'hundredForksMs'),
    row('embedded: a namespace made and deleted', 'namespaceMs'),
    row('embedded: memory of the process for it', 'idleMb', 'MB'),
  ]
}
