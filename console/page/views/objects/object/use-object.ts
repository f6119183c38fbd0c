/** useObject: one object, live or as of the shown moment. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { KubeList, KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { ApiError, read } from '../../../app/api.ts'
import { messageOf } from '../../../app/message-of.ts'
import { apiPath, type ObjectName } from '../../../app/object-place.ts'
import { atQuery } from '../../../app/time.ts'
import { useRealNow } from '../../../parts/use-now.ts'
import type { Kind } from '../kinds/kinds.ts'
import { useRows } from '../list/use-rows.ts'
import { changedPaths } from './changed-paths.ts'
import { latest } from './latest.ts'

export interface LiveObject {
  /** The newest version that was seen; stays after a deletion. */
  readonly object: KubeObject | undefined
  /** Keys of the paths that the newest version changed. */
  readonly changed: ReadonlySet<string>
  /** Grows with each version. */
  readonly change: number
  readonly isGone: boolean
  readonly fault: string | undefined
}

const nothing: LiveObject = {
  object: undefined,
  changed: new Set(),
  change: 0,
  isGone: false,
  fault: undefined,
}

function next(old: LiveObject, object: KubeObject): LiveObject {
  const { resourceVersion, uid } = object.metadata
  const known = old.object?.metadata
  if (known?.resourceVersion === resourceVersion && known?.uid === uid)
    return old.isGone || old.fault !== undefined ? { ...old, isGone: false, fault: undefined } : old
  const changed = old.object === undefined ? new Set<string>() : changedPaths(old.object, object)
  return { object, changed, change: old.change + 1, isGone: false, fault: undefined }
}

/** The object at the moment, which only lists can show. */
async function readPast(
  kind: Kind,
  { namespace, name }: ObjectName,
  moment: Readonly<Record<string, string>>,
): Promise<KubeObject> {
  const query = { ...moment, fieldSelector: `metadata.name=${name}` }
  const list = await read<KubeList>(apiPath(kind, { namespace }), { query })
  const [object] = list.items
  if (object === undefined)
    throw new ApiError(404, { message: 'The object did not exist at that moment.' })
  // Items of lists do not say what they are.
  const { group, version } = kind
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind: kind.kind, ...object }
}

/** Reads the object again with each change of its row in the live table. */
export function useObject(kind: Kind, { namespace, name }: ObjectName): LiveObject {
  const [shown, setShown] = useState(nothing)
  const fieldSelector = `metadata.name=${name}`
  const canWatch = kind.verbs.includes('watch')
  const table = useRows({ path: apiPath(kind, { namespace }), fieldSelector }, canWatch)
  // A viewer who may get the object but not watch it reads it again and again.
  const tick = useRealNow(table.end === undefined ? 3_600_000 : 2000)
  const moment = atQuery.value.resourceVersion
  const look = useMemo(() => {
    const state = { isLeft: false }
    const run = latest(async () => {
      try {
        const object =
          moment === undefined
            ? await read<KubeObject>(apiPath(kind, { namespace, name }))
            : await readPast(kind, { namespace, name }, atQuery.peek())
        if (!state.isLeft) setShown((old) => next(old, object))
      } catch (error) {
        if (state.isLeft) return
        const isGone = error instanceof ApiError && error.code === 404
        setShown((old) => ({ ...old, isGone, fault: messageOf(error) }))
      }
    })
    return { run, state }
  }, [kind.group, kind.version, kind.plural, namespace, name, moment])
  useEffect(() => {
    look.state.isLeft = false
    return () => {
      look.state.isLeft = true
    }
  }, [look])
  useEffect(look.run, [look, table.version, tick])
  return shown
}
