/** useThen: nodes and pods as they were at the revision that the page shows; undefined while it is live. */
import { useEffect, useState } from 'preact/hooks'
import type { Node, Pod } from '../../../../components/api/generated/types.ts'
import { slimNode } from '../../../slim/slim-node.ts'
import { slimPod } from '../../../slim/slim-pod.ts'
import type { SlimNode, SlimPod } from '../../../protocol/live.ts'
import type { LiveRows } from '../../app/live.ts'
import { readAll } from '../../app/read-all.ts'
import { at } from '../../app/time.ts'

interface Then {
  readonly nodes: LiveRows<SlimNode>
  readonly pods: LiveRows<SlimPod>
}

let versions = 0

function asRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string): LiveRows<Row> {
  versions += 1
  return {
    rows: new Map(rows.map((row) => [keyOf(row), row])),
    columns: [],
    changed: undefined,
    version: versions,
    isWhole: true,
    end: undefined,
  }
}

async function readThen(revision: string, signal: AbortSignal): Promise<Then> {
  const [nodes, pods] = await Promise.all([
    readAll('/api/v1/nodes', { revision, signal }),
    readAll('/api/v1/pods', { revision, signal }),
  ])
  return {
    nodes: asRows(
      nodes.map((node) => slimNode(node as unknown as Node)),
      ({ name }) => name,
    ),
    pods: asRows(
      pods.map((pod) => slimPod(pod as unknown as Pod)),
      ({ key }) => key,
    ),
  }
}

export function useThen(): Then | undefined {
  const revision = at.value
  const [then, setThen] = useState<Then>()
  useEffect(() => {
    setThen(undefined)
    if (revision === undefined) return undefined
    const left = new AbortController()
    readThen(revision, left.signal).then(setThen, () => {})
    return () => left.abort()
  }, [revision])
  return revision === undefined ? undefined : then
}
