/** useRecords: the requests of all API servers in the order of their answers, while the viewer may read them. */
import { useMemo } from 'preact/hooks'
import type { RequestRow } from '../../protocol/live.ts'
import type { LiveRows } from '../app/live.ts'
import { useChannel } from '../app/use-live.ts'
import { byAnswer } from './by-answer.ts'

export function useRecords(): {
  readonly live: LiveRows<RequestRow>
  readonly records: readonly RequestRow[]
} {
  const live = useChannel('requests')
  const records = useMemo(() => [...live.rows.values()].sort(byAnswer), [live])
  return { live, records }
}
