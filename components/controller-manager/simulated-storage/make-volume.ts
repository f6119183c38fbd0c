/** Makes a volume for a claim that asks for one (upstream: sig-storage-lib-external-provisioner provisionClaimOperation). */
import type { Node, PersistentVolumeClaim, StorageClass } from '../../api/generated/types.ts'
import { simulatedProvisioner, storageWish } from '../../api/simulation.ts'
import { claimClassName } from '../../api/default-classes.ts'
import type { Result } from '../../client/controller.ts'
import { messageOf } from '../../component-base/log.ts'
import { keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { newVolume, volumeNameOf } from './new-volume.ts'
import { simulatedFault } from './storage-tools.ts'
import type { StorageTools } from './storage-tools.ts'

/** The class of a claim that asks this provisioner for a volume and may have it now; undefined otherwise. */
function classToUse(
  { classes, keys, dialect }: StorageTools,
  claim: PersistentVolumeClaim,
): StorageClass | undefined {
  const { annotations = {} } = claim.metadata
  const asked = annotations[keys.storageProvisioner] ?? annotations[keys.betaStorageProvisioner]
  if (asked !== simulatedProvisioner || claim.spec?.volumeName) return undefined
  const storageClass = classes.get(claimClassName(claim, dialect))
  if (storageClass?.provisioner !== simulatedProvisioner) return undefined
  const waits = storageClass.volumeBindingMode === 'WaitForFirstConsumer'
  return waits && !annotations[keys.selectedNode] ? undefined : storageClass
}

export async function makeVolume(
  tools: StorageTools,
  claim: PersistentVolumeClaim,
): Promise<Result | void> {
  const { volumes, recorder, making, ownWrites } = tools
  const key = keyOf(claim)
  const storageClass = classToUse(tools, claim)
  if (storageClass === undefined || volumes.get(volumeNameOf(claim)) !== undefined) {
    making.forget(key)
    return
  }
  const pendingMs = ownWrites.pendingMs(key)
  if (pendingMs !== undefined) return { requeueAfterMs: pendingMs }
  if (!making.hasBegun(key, claim.metadata.uid ?? '')) {
    const message = `External provisioner is provisioning volume for claim "${key}"`
    recorder.record(claim, { type: 'Normal', reason: 'Provisioning', message })
  }
  const { annotations } = claim.metadata
  const state = making.advance(key, storageWish('provision', annotations, storageClass.parameters))
  if (state.kind === 'waiting') return { requeueAfterMs: state.leftMs }
  const fault = state.kind === 'failed' ? simulatedFault : unsupported(claim)
  if (fault !== undefined) {
    recordFailure(tools, claim, `${failureOf(storageClass)}: ${fault}`)
    return state.kind === 'failed' ? { requeueAfterMs: state.retryInMs } : undefined
  }
  await create(tools, claim, storageClass)
}

/** What of the claim no simulated volume can have. */
function unsupported({ spec }: PersistentVolumeClaim): string | undefined {
  const refuse = (what: string): string => `${simulatedProvisioner} does not support ${what}`
  if (spec?.dataSource !== undefined || spec?.dataSourceRef !== undefined) {
    return refuse('data sources')
  }
  // Only volumes of CSI drivers can have one.
  return spec?.volumeAttributesClassName ? refuse('volume attributes classes') : undefined
}

function failureOf({ metadata }: StorageClass): string {
  return `failed to provision volume with StorageClass "${metadata.name}"`
}

function recordFailure(
  { recorder }: StorageTools,
  claim: PersistentVolumeClaim,
  message: string,
): void {
  recorder.record(claim, { type: 'Warning', reason: 'ProvisioningFailed', message })
}

async function create(
  tools: StorageTools,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
): Promise<void> {
  const { volumeClient, recorder, keys, dialect, ownWrites, making } = tools
  const nodeName = claim.metadata.annotations?.[keys.selectedNode]
  const node = nodeName ? await selectedNode(tools, claim, nodeName) : undefined
  if (nodeName && node === undefined) return
  const key = keyOf(claim)
  try {
    const volume = await volumeClient.create(newVolume(claim, storageClass, { node, dialect }))
    ownWrites.wrote(key, volume)
    const message = `Successfully provisioned volume ${volume.metadata.name}`
    recorder.record(claim, { type: 'Normal', reason: 'ProvisioningSucceeded', message })
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) {
      if (isStatusError(error, 'Invalid', 'Forbidden'))
        recordFailure(tools, claim, `${failureOf(storageClass)}: ${messageOf(error)}`)
      throw error
    }
  }
  making.forget(key)
}

/** The node that the scheduler selected; for one that is gone the claim is given back to the scheduler. */
async function selectedNode(
  tools: StorageTools,
  claim: PersistentVolumeClaim,
  name: string,
): Promise<Node | undefined> {
  const { nodeClient, claimClient, keys } = tools
  try {
    return await nodeClient.get({ name })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    recordFailure(tools, claim, messageOf(error))
    const { [keys.selectedNode]: _gone, ...annotations } = claim.metadata.annotations ?? {}
    await claimClient.update({ ...claim, metadata: { ...claim.metadata, annotations } })
    return undefined
  }
}
