/** JournalStates: which API servers' request journals are read now, and why others are missing. The source of requests sets them. */
import { aborted } from '../../../components/component-base/aborted.ts'
import type { JournalRow } from '../../protocol/live.ts'
import type { LiveTable } from './table.ts'

export class JournalStates {
  readonly #rows = new Map<string, JournalRow>()
  readonly #tables = new Set<LiveTable<JournalRow>>()

  set(row: JournalRow): void {
    this.#rows.set(row.server, row)
    for (const table of this.#tables) table.set(row)
  }

  get(server: string): JournalRow | undefined {
    return this.#rows.get(server)
  }

  clear(): void {
    this.#rows.clear()
    for (const table of this.#tables) table.replace([])
  }

  /** Keeps the table as it is here until the signal aborts. */
  async show(table: LiveTable<JournalRow>, signal: AbortSignal): Promise<void> {
    table.replace([...this.#rows.values()])
    this.#tables.add(table)
    await aborted(signal)
    this.#tables.delete(table)
  }
}
