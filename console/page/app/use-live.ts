/** Hooks: rows of a channel or of a list for as long as a component is shown. */
import { useEffect, useMemo } from 'preact/hooks'
import type { ChannelName, Channels, TableRow, TableSubscription } from '../../protocol/live.ts'
import { followChannel, followTable, type LiveRows } from './live.ts'

/** The component draws again with each change. */
export function useChannel<Name extends ChannelName>(name: Name): LiveRows<Channels[Name]> {
  const followed = useMemo(() => followChannel(name), [name])
  useEffect(() => followed.leave, [followed])
  return followed.live.value
}

/** The component draws again with each change. */
export function useTable({
  path,
  labelSelector,
  fieldSelector,
}: TableSubscription): LiveRows<TableRow> {
  const followed = useMemo(
    () =>
      followTable({
        path,
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
      }),
    [path, labelSelector, fieldSelector],
  )
  useEffect(() => followed.leave, [followed])
  return followed.live.value
}
