/** useRecords: the requests of all API servers in one order, while the viewer may read them. */
import { useMemo } from 'preact/hooks'
import type { RequestRow } from '../../protocol/live.ts'
import type { LiveRows } from '../app/live.ts'
import { useChannel } from '../app/use-live.ts'
import { inOrder } from './in-order.ts'

export function useRecords(): {
  readonly live: LiveRows<RequestRow>
  readonly records: readonly RequestRow[]
} {
  const live = useChannel('requests')
  const records = useMemo(() => inOrder([...live.rows.values()]), [live])
  return { live, records }
}
