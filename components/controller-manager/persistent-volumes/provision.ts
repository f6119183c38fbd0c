/**
 * What the binder does for a claim without a volume: fills in the default class, and asks the class's provisioner for a volume by
 * an annotation. Every provisioner is external (upstream: pv_controller.go provisionClaimOperationExternal; KEP-3333).
 */
import type { PersistentVolumeClaim } from '../../api/generated/types.ts'
import { labelKey } from '../../api/dialect.ts'
import { claimClassName, defaultStorageClass, namesClass } from '../../api/default-classes.ts'
import { messageOf } from '../../component-base/log.ts'
import { notFound } from '../../machinery/objects/status-error.ts'
import { isTerminal } from '../pod-state.ts'
import type { BinderTools } from './binder-tools.ts'
import { writeClaim } from './binding.ts'
import { podsOfClaim } from '../claim-pods.ts'
import { keyOf } from '../../machinery/objects/object.ts'

/** Whether the scheduler has the first say: the class waits for a consumer, and no node was selected. */
export function isDelayed(
  { classes, dialect }: BinderTools,
  claim: PersistentVolumeClaim,
): boolean {
  const className = claimClassName(claim, dialect)
  return className !== '' && classes.get(className)?.volumeBindingMode === 'WaitForFirstConsumer'
}

/** Whether the scheduler selected a node and asks for a volume there. */
export function isNodeSelected(
  { keys }: BinderTools,
  { metadata }: PersistentVolumeClaim,
): boolean {
  return metadata.annotations?.[keys.selectedNode] !== undefined
}

/** Gives a claim that names no class the default one; false when there is nothing to give. */
export async function assignDefaultClass(
  tools: BinderTools,
  claim: PersistentVolumeClaim,
): Promise<boolean> {
  const { classes, dialect } = tools
  if (namesClass(claim, dialect)) return false
  const storageClassName = defaultStorageClass(classes.list(), dialect)?.metadata.name
  if (storageClassName === undefined) return false
  const { defaultClasses, defaultClassErrors } = tools.metrics
  defaultClasses.inc()
  try {
    await writeClaim(tools, claim, { ...claim, spec: { ...claim.spec, storageClassName } })
  } catch (error) {
    defaultClassErrors.inc()
    throw error
  }
  return true
}

/** Says what a claim of a class with WaitForFirstConsumer waits for. */
export function recordDelay({ recorder, pods }: BinderTools, claim: PersistentVolumeClaim): void {
  const names = podsOfClaim(pods, keyOf(claim))
    .filter((pod) => !isTerminal(pod) && !pod.spec?.nodeName)
    .map(({ metadata }) => metadata.name ?? '')
  const [reason, message] =
    names.length === 0
      ? ['WaitForFirstConsumer', 'waiting for first consumer to be created before binding']
      : [
          'WaitForPodScheduled',
          `waiting for ${names.length > 1 ? 'pods' : 'pod'} ${names.join(',')} to be scheduled`,
        ]
  recorder.record(claim, { type: 'Normal', reason, message })
}

/** Asks the provisioner of the claim's class for a volume, and says so; a class that cannot give one is an event. */
export async function requestVolume(
  tools: BinderTools,
  claim: PersistentVolumeClaim,
): Promise<void> {
  const { classes, recorder, keys, dialect } = tools
  if (!tools.provisions) return
  const className = claimClassName(claim, dialect)
  const provisioner = classes.get(className)?.provisioner
  const fail = (message: string): void =>
    recorder.record(claim, { type: 'Warning', reason: 'ProvisioningFailed', message })
  if (provisioner === undefined) {
    fail(messageOf(notFound(classes.resource, className)))
    return
  }
  // The domain's own names are of in-tree plugins, of which this cluster has none.
  if (provisioner.startsWith(labelKey(dialect, '', ''))) {
    fail(`no volume plugin matched name: ${provisioner}`)
    return
  }
  tools.times.begin(keyOf(claim), provisioner, 'provision')
  const annotations = {
    ...claim.metadata.annotations,
    [keys.betaStorageProvisioner]: provisioner,
    [keys.storageProvisioner]: provisioner,
  }
  const metadata = { ...claim.metadata, annotations }
  const asked = await writeClaim(tools, claim, { ...claim, metadata })
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
  recorder.record(asked, { type: 'Normal', reason: 'ExternalProvisioning', message })
}
