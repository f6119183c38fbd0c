/** useRows: the rows of a list, live with marks of what changed, or as of the shown moment. */
import { effect, signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { TableColumn, TableRow, TableSubscription } from '../../../../protocol/live.ts'
import { ApiError } from '../../../app/api.ts'
import { followTable } from '../../../app/live.ts'
import { messageOf } from '../../../app/message-of.ts'
import { atQuery } from '../../../app/time.ts'
import { readTable } from './read-table.ts'
import { RowMarks } from './row-marks.ts'

export interface ShownTable {
  readonly columns: readonly TableColumn[]
  readonly rows: ReadonlyMap<string, TableRow>
  readonly marks: RowMarks
  /** Grows with every change. */
  readonly version: number
  readonly isWhole: boolean
  readonly end: { readonly code: number; readonly message: string } | undefined
}

/** How often lists are read that cannot be watched. */
const everyMs = 5000

interface Followed {
  readonly table: ReadonlySignal<ShownTable>
  readonly leave: () => void
}

const nothing = {
  columns: [],
  rows: new Map<string, TableRow>(),
  version: 0,
  isWhole: false,
  end: undefined,
}

/** Every change reaches the marks, however seldom the component draws. */
function followLive(wanted: TableSubscription): Followed {
  const { live, leave } = followTable(wanted)
  const marks = new RowMarks()
  const table = signal<ShownTable>({ ...nothing, marks })
  const stop = effect(() => {
    const { columns, rows, version, isWhole, end, changed } = live.value
    marks.apply({ rows, changed }, Date.now())
    table.value = { columns, rows, marks, version, isWhole, end }
  })
  return {
    table,
    leave: () => {
      stop()
      leave()
    },
  }
}

/** Reads the list once, or again and again. */
function followReads(
  wanted: TableSubscription,
  at: Readonly<Record<string, string>>,
  isRepeated: boolean,
): Followed {
  const left = new AbortController()
  const table = signal<ShownTable>({ ...nothing, marks: new RowMarks() })
  const look = async (): Promise<void> => {
    try {
      const found = await readTable(wanted, at, left.signal)
      const version = table.value.version + 1
      table.value = { ...table.value, ...found, version, isWhole: true, end: undefined }
    } catch (error) {
      if (left.signal.aborted) return
      const code = error instanceof ApiError ? error.code : 500
      table.value = { ...table.value, isWhole: true, end: { code, message: messageOf(error) } }
    }
  }
  void look()
  const timer = isRepeated ? setInterval(() => void look(), everyMs) : undefined
  return {
    table,
    leave: () => {
      clearInterval(timer)
      left.abort()
    },
  }
}

/** The component draws again with each change. */
export function useRows(
  { path, labelSelector, fieldSelector }: TableSubscription,
  canWatch: boolean,
): ShownTable {
  const at = atQuery.value
  const moment = at.resourceVersion
  const followed = useMemo(() => {
    const wanted = {
      path,
      ...(labelSelector ? { labelSelector } : {}),
      ...(fieldSelector ? { fieldSelector } : {}),
    }
    if (moment !== undefined) return followReads(wanted, { ...atQuery.peek() }, false)
    return canWatch ? followLive(wanted) : followReads(wanted, {}, true)
  }, [path, labelSelector, fieldSelector, canWatch, moment])
  useEffect(() => followed.leave, [followed])
  return followed.table.value
}
