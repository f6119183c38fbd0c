/**
 * The simulated provisioner: makes, expands and deletes volumes of classes that name it, as an external provisioner and resizer
 * would (upstream: sig-storage-lib-external-provisioner, kubernetes-csi/external-resizer). A volume is an object and nothing else.
 */
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts'
import { simulatedProvisioner } from '../../api/simulation.ts'
import { claimClassName } from '../../api/default-classes.ts'
import { volumeKeys } from '../../api/volume-binding.ts'
import { runController, source } from '../../client/controller.ts'
import type { Result } from '../../client/controller.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createOwnWrites } from '../own-writes.ts'
import { deleteVolume } from './delete-volume.ts'
import { expandVolume } from './expand-volume.ts'
import { makeVolume } from './make-volume.ts'
import { refuseModification } from './refuse-modification.ts'
import { createSimulatedWork } from './simulated-work.ts'
import type { StorageTools } from './storage-tools.ts'

const workers = 4

function createTools(context: ControllerContext): StorageTools {
  const { client, informers, resources, dialect, clock, recorder } = context
  const volumes = informers.informer<PersistentVolume>(resources.persistentVolumes)
  return {
    claims: informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    volumes,
    classes: informers.informer<StorageClass>(resources.storageClasses),
    claimClient: client.resource<PersistentVolumeClaim>(resources.persistentVolumeClaims),
    volumeClient: client.resource<PersistentVolume>(resources.persistentVolumes),
    nodeClient: client.resource<Node>(resources.nodes),
    recorder,
    keys: volumeKeys(dialect),
    dialect,
    clock,
    ownWrites: createOwnWrites(volumes, clock),
    making: createSimulatedWork(clock),
    expanding: createSimulatedWork(clock),
    deleting: createSimulatedWork(clock),
    refusedClasses: new Map(),
  }
}

async function syncClaim(tools: StorageTools, key: string): Promise<Result | void> {
  const claim = tools.claims.get(key)
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
    tools.making.forget(key)
    tools.expanding.forget(key)
    tools.refusedClasses.delete(key)
    return
  }
  if (!claim.spec?.volumeName) return makeVolume(tools, claim)
  refuseModification(tools, claim)
  return expandVolume(tools, claim)
}

/** Runs until `signal` aborts. */
export async function runSimulatedProvisioner(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { dialect, clock, log, queues } = context
  const tools = createTools(context)
  const { claims, volumes, classes } = tools
  const claimsOfClass = ({ metadata }: StorageClass): string[] =>
    claims
      .list()
      .filter((claim) => claimClassName(claim, dialect) === metadata.name)
      .map(keyOf)
  const claimOfVolume = ({ spec }: PersistentVolume): string[] =>
    spec?.claimRef === undefined
      ? []
      : [`${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`]
  const shared = { workers, clock, log, queues }
  await Promise.all([
    runController(
      {
        ...shared,
        name: 'simulated-provisioner-claims',
        informers: [source(claims), source(volumes, claimOfVolume), source(classes, claimsOfClass)],
        reconcile: (key) => syncClaim(tools, key),
      },
      signal,
    ),
    runController(
      {
        ...shared,
        name: 'simulated-provisioner-volumes',
        informers: [source(volumes), source(classes, () => [])],
        reconcile: (name) => deleteVolume(tools, name),
      },
      signal,
    ),
  ])
}

export const simulatedProvisionerController: ControllerEntry = {
  name: 'simulated-provisioner-controller',
  aliases: ['simulated-provisioner'],
  eventSource: simulatedProvisioner,
  defaultOn: true,
  start: runSimulatedProvisioner,
}
