/** useObjects: whole objects of a list, read again after it has changed; as of the moment that the page shows. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { TableSubscription } from '../../protocol/live.ts'
import { read } from '../app/api.ts'
import type { LiveRows } from '../app/live.ts'
import { at, atQuery } from '../app/time.ts'
import { useTable } from '../app/use-live.ts'

/** Changes in this time are read at once. */
const togetherMs = 300
/** More objects than a page shows in full. */
const most = 500

export interface Objects<T> {
  readonly items: readonly T[]
  /** There are more. */
  readonly isCut: boolean
  /** The subscription that says when to read: it knows whether the viewer may. */
  readonly live: LiveRows<unknown>
}

interface List<T> {
  readonly metadata?: { readonly continue?: string }
  readonly items: readonly T[]
}

export function useObjects<T>(selection: TableSubscription): Objects<T> {
  const { path, fieldSelector } = selection
  const live = useTable(selection)
  const [list, setList] = useState<List<T>>({ items: [] })
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const wanted = useRef(selection)
  wanted.current = selection
  const moment = at.value
  useEffect(() => {
    // A timer that runs stays: changes without end must not put reading off.
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      const { path: listed, fieldSelector: selector } = wanted.current
      const query = { ...atQuery.value, fieldSelector: selector, limit: most }
      // A failure shows in the subscription, or is over with the next change.
      read<List<T>>(listed, { query }).then(setList, () => {})
    }, togetherMs)
  }, [path, fieldSelector, live.version, moment])
  useEffect(() => () => clearTimeout(timer.current), [])
  return { items: list.items, isCut: (list.metadata?.continue ?? '') !== '', live }
}
