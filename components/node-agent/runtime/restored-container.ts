/** Restored container: a container that started before the agent was restarted. */
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../api/generated/types.ts'
import type { ContainerExited, RuntimeContainer } from './container-runtime.ts'

const bareId = (id: string | undefined): string => (id ?? '').replace(/^[^:]*:\/\//, '')

function exitedFrom(
  ended: ContainerStateTerminated | undefined,
  fallbackId: string,
): ContainerExited | undefined {
  if (ended === undefined) return undefined
  const { exitCode, signal, message } = ended
  return {
    kind: 'exited',
    id: bareId(ended.containerID) || fallbackId,
    startedMs: Date.parse(ended.startedAt ?? ''),
    finishedMs: Date.parse(ended.finishedAt ?? ''),
    exitCode,
    reason: ended.reason ?? 'Completed',
    ...(signal === undefined ? {} : { signal }),
    ...(message === undefined ? {} : { message }),
  }
}

/** The container by its pod's last status; undefined if it never ran. */
export function restoredFrom(status: ContainerStatus): RuntimeContainer | undefined {
  const id = bareId(status.containerID)
  const { running, terminated } = status.state ?? {}
  if (id === '') return undefined
  const known = {
    id,
    name: status.name,
    attempt: status.restartCount,
    image: status.image,
    imageId: status.imageID,
  }
  const last = exitedFrom(status.lastState?.terminated, id)
  if (running !== undefined) {
    const startedMs = Date.parse(running.startedAt ?? '')
    return { ...known, state: { kind: 'running', startedMs }, last }
  }
  const ended = exitedFrom(terminated, id)
  if (ended !== undefined) return { ...known, state: ended, last }
  return last && { ...known, state: last }
}

/** What is known of all containers of the pod. */
export function statusesOf({ status }: Pod): ContainerStatus[] {
  return [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ]
}
