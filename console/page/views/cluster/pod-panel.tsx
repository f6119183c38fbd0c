/** PodPanel: one pod with its containers, and the ways to its log and its shell. */
import { useEffect, useState } from 'preact/hooks'
import { read } from '../../app/api.ts'
import { linkTo } from '../../app/router.ts'
import type { SlimPod } from '../../../protocol/live.ts'

interface ContainerState {
  readonly running?: object
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: { readonly reason?: string; readonly exitCode?: number }
}

interface Container {
  readonly name: string
  readonly image: string
  readonly ready?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
}

interface PodObject {
  readonly spec?: {
    readonly containers?: readonly { readonly name: string; readonly image: string }[]
  }
  readonly status?: { readonly podIP?: string; readonly containerStatuses?: readonly Container[] }
}

function stateText({ running, waiting, terminated }: ContainerState = {}): string {
  if (running !== undefined) return 'running'
  if (waiting !== undefined)
    return [waiting.reason ?? 'waiting', waiting.message].filter(Boolean).join(': ')
  if (terminated === undefined) return 'not started'
  return `${terminated.reason ?? 'ended'} (exit code ${terminated.exitCode ?? 0})`
}

/** The object, read again whenever its row changes. */
function usePod(pod: SlimPod): PodObject | undefined {
  const [object, setObject] = useState<PodObject>()
  const [namespace = '', name = ''] = pod.key.split('/')
  useEffect(() => {
    const left = new AbortController()
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
    read<PodObject>(path, { signal: left.signal }).then(setObject, () => {})
    return () => left.abort()
  }, [pod])
  return object
}

export function PodPanel({ pod }: { readonly pod: SlimPod }) {
  const object = usePod(pod)
  const [namespace = '', name = ''] = pod.key.split('/')
  const place = ['objects', 'core', 'v1', 'pods', namespace, name]
  const statuses = object?.status?.containerStatuses ?? []
  return (
    <section class="pod-panel" aria-label={`Pod ${pod.key}`}>
      <h3>
        {pod.key} <span class="dim">{pod.status}</span>
      </h3>
      <p>
        {pod.owner !== undefined && <>of {pod.owner}; </>}
        {pod.restarts} restarts; {object?.status?.podIP ?? 'no address'}
      </p>
      <ul class="containers">
        {(object?.spec?.containers ?? []).map((container) => (
          <li key={container.name}>
            <strong>{container.name}</strong> <code>{container.image}</code>{' '}
            {stateText(statuses.find((status) => status.name === container.name)?.state)}
          </li>
        ))}
      </ul>
      <p class="links">
        <a href={linkTo(place)}>Object</a>
        <a href={linkTo(place, { tab: 'log' })}>Log</a>
        <a href={linkTo(place, { tab: 'shell' })}>Shell</a>
      </p>
    </section>
  )
}
