/** useKinds: the kinds that the server serves; new CustomResourceDefinitions appear by themselves. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { messageOf } from '../../../app/message-of.ts'
import { read } from '../../../app/api.ts'
import { groupNamed } from '../../../app/groups.ts'
import { useTable } from '../../../app/use-live.ts'
import { kindsOf, type DiscoveryList, type Kind } from './kinds.ts'

/** After a change of a definition: servers publish what it defines a little later. */
const afterChangeMs = [0, 400, 2000]
/** For servers behind the aggregation layer, and for viewers who may not list definitions. */
const everyMs = 20_000

export interface KnownKinds {
  /** Undefined until discovery has answered once. */
  readonly kinds: readonly Kind[] | undefined
  /** Names of definitions; undefined when the viewer may not list them. */
  readonly custom: ReadonlySet<string> | undefined
  readonly fault: string | undefined
}

async function discover(signal: AbortSignal): Promise<Kind[]> {
  const accept = `application/json;g=${groupNamed('apidiscovery')};v=v2;as=APIGroupDiscoveryList`
  const lists = await Promise.all(
    ['/api', '/apis'].map((path) => read<DiscoveryList>(path, { accept, signal })),
  )
  return kindsOf(lists)
}

export function useKinds(): KnownKinds {
  const definitions = useTable({
    path: `/apis/${groupNamed('apiextensions')}/v1/customresourcedefinitions`,
  })
  const [kinds, setKinds] = useState<readonly Kind[]>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    const left = new AbortController()
    const look = (): void => {
      discover(left.signal).then(
        (found) => {
          if (left.signal.aborted) return
          setFault(undefined)
          setKinds((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found))
        },
        (error: unknown) => {
          if (!left.signal.aborted) setFault(messageOf(error))
        },
      )
    }
    const timers = afterChangeMs.map((afterMs) => setTimeout(look, afterMs))
    const every = setInterval(look, everyMs)
    return () => {
      left.abort()
      timers.forEach(clearTimeout)
      clearInterval(every)
    }
  }, [definitions.version])
  const { rows, end, version } = definitions
  const custom = useMemo(
    () => (end === undefined ? new Set([...rows.values()].map(({ name }) => name)) : undefined),
    [version, end],
  )
  return { kinds, custom, fault }
}
