/**
 * Warns about pods that share a volume with different SELinux labels: only one of them can run on a node (upstream:
 * pkg/controller/volume/selinuxwarning; KEP-1710). It writes Events and nothing else.
 */
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
} from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { indexByClaim, podsOfClaim } from '../claim-pods.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { isTerminal } from '../pod-state.ts'
import { labelledVolumes } from './labelled-volumes.ts'
import { createVolumeConflicts } from './volume-conflicts.ts'

const name = 'selinux-warning-controller'

/** Warns once about a pod that mounts a volume with several labels. */
function createAmbiguityWarning({ informers, resources, recorder }: ControllerContext) {
  const pods = informers.informer<Pod>(resources.pods)
  /** Uids of pods that have their event. */
  const warned = new Set<string>()
  pods.onEvent((event) => {
    if (event.type === 'delete') warned.delete(event.object.metadata.uid ?? '')
  })
  return (pod: Pod, names: readonly string[]): void => {
    const { uid = '' } = pod.metadata
    if (names.length === 0 || warned.has(uid)) return
    warned.add(uid)
    for (const volumeName of names) {
      const message = `Volume "${volumeName}" is mounted twice with different SELinux labels inside this pod`
      recorder.record(pod, { type: 'Warning', reason: 'MultipleSELinuxLabels', message })
    }
  }
}

/** Runs until `signal` aborts. */
async function runSelinuxWarning(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { informers, resources, recorder, clock, log, queues } = context
  const pods = informers.informer<Pod>(resources.pods)
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const volumes = informers.informer<PersistentVolume>(resources.persistentVolumes)
  const drivers = informers.informer<CSIDriver>(resources.csiDrivers)
  indexByClaim(pods)
  const conflicts = createVolumeConflicts()
  const caches = {
    claim: (key: string) => claims.get(key),
    volume: (volumeName: string) => volumes.get(volumeName),
    driver: (driverName: string) => drivers.get(driverName),
  }
  const warnAmbiguous = createAmbiguityWarning(context)
  const reconcile = async (key: string): Promise<void> => {
    const pod = pods.get(key)
    if (pod === undefined || isTerminal(pod)) {
      conflicts.delete(key)
      return
    }
    const { volumes: labelled, ambiguous } = labelledVolumes(pod, caches)
    warnAmbiguous(pod, ambiguous)
    for (const { podKey, reason, message } of conflicts.set(key, labelled)) {
      const about = pods.get(podKey)
      if (about !== undefined) recorder.record(about, { type: 'Normal', reason, message })
    }
  }
  const usersOf = (claimKey: string): string[] => podsOfClaim(pods, claimKey).map(keyOf)
  const usersOfVolume = ({ spec }: PersistentVolume): string[] => {
    const { namespace = '', name: claimName = '', uid } = spec?.claimRef ?? {}
    return uid === undefined ? [] : usersOf(`${namespace}/${claimName}`)
  }
  await runController(
    {
      name,
      informers: [
        source(pods),
        source(claims, (claim) => usersOf(keyOf(claim))),
        source(volumes, usersOfVolume),
        source(drivers, ({ metadata }) => conflicts.podsOf(metadata.name ?? '')),
      ],
      reconcile,
      clock,
      log,
      queue: queues('selinux_warning'),
    },
    signal,
  )
}

export const selinuxWarning: ControllerEntry = {
  name,
  aliases: [],
  eventSource: 'selinux_warning',
  defaultOn: false,
  gates: ['SELinuxChangePolicy'],
  start: runSelinuxWarning,
}
