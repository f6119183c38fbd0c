/** Cluster: nodes with their heartbeats and pods, as a map; one node, pod or all that wait in words beside it. */
import { useMemo, useRef, useState } from 'preact/hooks'
import { clusterNow, heartbeatSeenAt } from '../../app/cluster-time.ts'
import { useChannel } from '../../app/use-live.ts'
import { Ended } from '../../parts/ended.tsx'
import { ClusterMap } from './cluster-map.tsx'
import { ClusterModel, waiting } from './cluster-model.ts'
import { NodePanel } from './node-panel.tsx'
import { PodPanel } from './pod-panel.tsx'
import { figuresOf, spoken, type Figures } from './summary.ts'
import { useThen } from './use-then.ts'

const mostWaiting = 12

function Counts({ figures }: { readonly figures: Figures }) {
  const { nodes, readyNodes, pods, statuses } = figures
  return (
    <ul class="counts" aria-label="Figures">
      <li class={readyNodes === nodes ? 'tone-good' : 'tone-bad'}>
        <strong>{readyNodes}</strong> of {nodes} nodes Ready
      </li>
      <li>
        <strong>{pods}</strong> pods
      </li>
      {statuses.map(({ status, count, tone }) => (
        <li key={status} class={`tone-${tone}`}>
          <span class={`dot tone-${tone}`} aria-hidden="true" /> <strong>{count}</strong> {status}
        </li>
      ))}
    </ul>
  )
}

function Waiting({ model }: { readonly model: ClusterModel }) {
  const pods = model.podsOf(waiting)
  if (pods.length === 0) return null
  return (
    <p class="waiting" role="status">
      <strong>{pods.length}</strong> without a node:{' '}
      {pods.slice(0, mostWaiting).map(({ key, status }) => (
        <span key={key} class="chip">
          {key} <span class="dim">{status}</span>
        </span>
      ))}
      {pods.length > mostWaiting && ` and ${pods.length - mostWaiting} more`}
    </p>
  )
}

export function ClusterView() {
  const live = { nodes: useChannel('nodes'), pods: useChannel('pods') }
  const then = useThen()
  const nodes = then?.nodes ?? live.nodes
  const pods = then?.pods ?? live.pods
  const model = useRef(new ClusterModel()).current
  useMemo(
    () => model.setNodes(nodes.rows, nodes.changed, performance.now(), heartbeatSeenAt),
    [nodes],
  )
  useMemo(() => model.setPods(pods, performance.now()), [pods])
  const [selected, setSelected] = useState<string>()
  const [pod, setPod] = useState<string>()
  const select = (node: string | undefined, key?: string): void => {
    setSelected(node)
    setPod(key)
  }
  const figures = figuresOf(nodes.rows.values(), pods.rows.values())
  const node = selected === undefined ? undefined : nodes.rows.get(selected)
  const shownPod = pod === undefined ? undefined : pods.rows.get(pod)
  return (
    <>
      <h1>Cluster</h1>
      <Ended live={nodes} what="nodes" />
      <Ended live={pods} what="pods" />
      <Counts figures={figures} />
      <Waiting model={model} />
      <div class={node === undefined ? 'map-frame' : 'map-frame has-panel'}>
        <div class="map-place">
          <ClusterMap
            model={model}
            version={model.version}
            summary={spoken(figures)}
            selected={selected}
            onSelect={select}
          />
        </div>
        {node !== undefined && (
          <div class="side">
            <NodePanel
              node={node}
              pods={model.podsOf(node.name)}
              heartbeatAgeMs={model.heartbeatAgeMs(node.name, clusterNow())}
              selectedPod={pod}
              onSelectPod={setPod}
              onClose={() => select(undefined)}
            />
            {shownPod !== undefined && <PodPanel pod={shownPod} />}
          </div>
        )}
      </div>
    </>
  )
}
