/** JournalStates: which API servers' request journals are read now, and why others are missing. The source of requests sets them. */
import { aborted } from '../../../components/component-base/aborted.ts'
import type { JournalRow } from '../../protocol/live.ts'
import type { LiveTable } from './table.ts'

const isAway = ({ state }: Pick<JournalRow, 'state'>): boolean =>
  state === 'missing' || state === 'gone'

function nextRow(
  before: JournalRow | undefined,
  state: Pick<JournalRow, 'server' | 'state' | 'why'>,
  nowMs: number,
): JournalRow {
  const wasAway = before !== undefined && isAway(before)
  if (isAway(state)) {
    const isUnread = before === undefined || before.isUnread === true
    // One that did not answer before it left is missing since then.
    return { ...state, sinceMs: wasAway ? before.sinceMs : nowMs, isUnread }
  }
  const last = before?.gap === undefined ? {} : { gap: before.gap }
  const isBack = wasAway && before.isUnread !== true
  const gap = isBack ? { gap: { fromMs: before.sinceMs, toMs: nowMs } } : last
  return { ...state, sinceMs: nowMs, ...gap }
}

export class JournalStates {
  readonly #rows = new Map<string, JournalRow>()
  readonly #tables = new Set<LiveTable<JournalRow>>()

  /** How a server is from `nowMs` on. The same state again changes nothing. */
  note(state: Pick<JournalRow, 'server' | 'state' | 'why'>, nowMs: number): void {
    const before = this.#rows.get(state.server)
    if (before?.state === state.state) return
    const row = nextRow(before, state, nowMs)
    this.#rows.set(row.server, row)
    for (const table of this.#tables) table.set(row)
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
