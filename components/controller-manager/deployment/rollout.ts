/** One look at a Deployment and its ReplicaSets, and the writes a step of a rollout is made of (upstream: deployment/sync.go). */
import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/generated/types.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import type { Clock } from '../../component-base/clock.ts'
import { messageOf } from '../../component-base/log.ts'
import { deepEqual, keyOf } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import { controllerReference } from '../claim.ts'
import type { OwnWrites } from '../own-writes.ts'
import { isNamespaceTerminating } from '../replica-set/pod-control.ts'
import {
  condition,
  hasDeadline,
  progressing,
  withDeploymentCondition,
} from './deployment-status.ts'
import { newReplicaSetSize, sizeOf } from './replica-math.ts'
import type { Resize } from './replica-math.ts'
import {
  hasTemplate,
  nextRevision,
  newestReplicaSet,
  outdated,
  revisedAnnotations,
  sizeAnnotations,
} from './revisions.ts'
import type { RevisionKeys } from './revisions.ts'
import { templateHash } from '../template-hash.ts'

export interface RolloutTools {
  readonly deployments: ResourceClient<Deployment>
  readonly replicaSets: ResourceClient<ReplicaSet>
  readonly recorder: EventRecorder
  readonly clock: Clock
  readonly keys: RevisionKeys
  /** The label that distinguishes one ReplicaSet's pods from another's. */
  readonly hashKey: string
  readonly ownWrites: OwnWrites
}

/** A Deployment as this reconciliation knows it; its writes bring it up to date. */
export class Rollout {
  deployment: Deployment
  newest: ReplicaSet | undefined
  old: readonly ReplicaSet[]
  readonly #tools: RolloutTools

  constructor(tools: RolloutTools, deployment: Deployment, replicaSets: readonly ReplicaSet[]) {
    this.#tools = tools
    this.deployment = deployment
    this.newest = newestReplicaSet(deployment, replicaSets, tools.hashKey)
    this.old = replicaSets.filter((set) => set !== this.newest)
  }

  get all(): readonly ReplicaSet[] {
    return this.newest === undefined ? this.old : [...this.old, this.newest]
  }

  get key(): string {
    return keyOf(this.deployment)
  }

  /** Numbers the newest ReplicaSet above all others, and the Deployment like it. */
  async syncRevision(): Promise<void> {
    const { keys } = this.#tools
    const { newest, deployment } = this
    if (newest === undefined) return
    const revision = nextRevision(this.old, keys)
    const annotations = revisedAnnotations(deployment, newest, { revision, keys })
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0
    const isCurrent =
      deepEqual(annotations, newest.metadata.annotations ?? {}) &&
      (newest.spec?.minReadySeconds ?? 0) === minReadySeconds
    if (!isCurrent && newest.spec !== undefined) {
      await this.#replace({
        ...newest,
        metadata: { ...newest.metadata, annotations },
        spec: { ...newest.spec, minReadySeconds },
      })
      return
    }
    const message = `Found new replica set "${newest.metadata.name}"`
    await this.#noteRevision(annotations[keys.revision] ?? '', {
      reason: 'FoundNewReplicaSet',
      message,
      isNews: progressing(deployment) === undefined,
    })
  }

  /** Creates the ReplicaSet of the current template unless it exists. Throws if another has its name: retry. */
  async ensureNewest(): Promise<void> {
    if (this.newest !== undefined) {
      await this.syncRevision()
      return
    }
    const { keys, ownWrites, recorder } = this.#tools
    const { deployment } = this
    const revision = nextRevision(this.old, keys)
    const wanted = this.#newReplicaSet(revision)
    const size = sizeOf(wanted)
    const { set, isNew } = await this.#create(wanted)
    ownWrites.wrote(this.key, set)
    this.newest = set
    const name = set.metadata.name ?? ''
    if (isNew && size > 0) {
      const message = `Scaled up replica set ${name} from 0 to ${size}`
      recorder.record(deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message })
    }
    const message = `Created new replica set "${name}"`
    await this.#noteRevision(String(revision), {
      reason: 'NewReplicaSetCreated',
      message,
      isNews: isNew,
    })
  }

  /** Gives ReplicaSets their new sizes, and notes in them what the Deployment wants now. */
  async resize(resizes: readonly Resize[]): Promise<void> {
    const { recorder, keys } = this.#tools
    const { deployment } = this
    for (const { replicaSet, replicas } of resizes) {
      const before = sizeOf(replicaSet)
      const annotations = {
        ...replicaSet.metadata.annotations,
        ...sizeAnnotations(deployment, keys),
      }
      const isSame = before === replicas && deepEqual(annotations, replicaSet.metadata.annotations)
      if (isSame || replicaSet.spec === undefined) continue
      await this.#replace({
        ...replicaSet,
        metadata: { ...replicaSet.metadata, annotations },
        spec: { ...replicaSet.spec, replicas },
      })
      if (before === replicas) continue
      const direction = before < replicas ? 'up' : 'down'
      const name = replicaSet.metadata.name ?? ''
      const message = `Scaled ${direction} replica set ${name} from ${before} to ${replicas}`
      recorder.record(deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message })
    }
  }

  /** Deletes old ReplicaSets beyond the history limit. */
  async cleanUp(): Promise<void> {
    for (const { metadata } of outdated(this.deployment, this.old, this.#tools.keys)) {
      const { namespace, name = '', uid = '' } = metadata
      try {
        await this.#tools.replicaSets.delete({ namespace, name }, { preconditions: { uid } })
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
      }
      this.old = this.old.filter((set) => set.metadata.uid !== uid)
    }
  }

  async updateStatus(status: DeploymentStatus): Promise<void> {
    if (deepEqual(this.deployment.status, status)) return
    await this.#writeStatus({ ...this.deployment, status })
  }

  #newReplicaSet(revision: bigint): ReplicaSet {
    const { keys, hashKey, deployments } = this.#tools
    const { metadata, spec, status } = this.deployment
    const template = spec?.template ?? {}
    const hash = templateHash(template, status?.collisionCount)
    const labels = { ...template.metadata?.labels, [hashKey]: hash }
    const selector = spec?.selector ?? {}
    const set: ReplicaSet = {
      metadata: {
        name: `${metadata.name}-${hash}`,
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
        labels,
        ownerReferences: [controllerReference(this.deployment, deployments.resource)],
      },
      spec: {
        replicas: newReplicaSetSize(this.deployment, this.old, 0),
        ...(spec?.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashKey]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    }
    set.metadata.annotations = {
      ...revisedAnnotations(this.deployment, set, { revision, keys }),
      ...sizeAnnotations(this.deployment, keys),
    }
    return set
  }

  async #create(wanted: ReplicaSet): Promise<{ set: ReplicaSet; isNew: boolean }> {
    const { replicaSets, hashKey } = this.#tools
    const { namespace, name = '' } = wanted.metadata
    try {
      return { set: await replicaSets.create(wanted), isNew: true }
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) {
        await this.#noteFailure(name, error)
        throw error
      }
      const set = await replicaSets.get({ namespace, name })
      const isOwn = set.metadata.ownerReferences?.some(
        ({ uid, controller }) => controller === true && uid === this.deployment.metadata.uid,
      )
      if (isOwn === true && hasTemplate(set, this.deployment, hashKey)) return { set, isNew: false }
      // Another's, or one with another template: the next try hashes to another name.
      const { status = {} } = this.deployment
      await this.updateStatus({ ...status, collisionCount: (status.collisionCount ?? 0) + 1 })
      throw error
    }
  }

  async #noteFailure(name: string, error: unknown): Promise<void> {
    if (isNamespaceTerminating(error)) return
    const { recorder, clock } = this.#tools
    const reason = 'ReplicaSetCreateError'
    const message = `Failed to create new replica set "${name}": ${messageOf(error)}`
    recorder.record(this.deployment, { type: 'Warning', reason, message })
    if (!hasDeadline(this.deployment)) return
    const failed = condition({ type: 'Progressing', status: 'False', reason, message }, clock.now())
    await this.updateStatus(withDeploymentCondition(this.deployment.status ?? {}, failed))
  }

  /** Writes the Deployment's revision, and that its ReplicaSet was found or made, if either is new. */
  async #noteRevision(
    revision: string,
    news: { reason: string; message: string; isNews: boolean },
  ): Promise<void> {
    const { keys, clock } = this.#tools
    const { deployment } = this
    const { reason, message } = news
    const isCurrent = deployment.metadata.annotations?.[keys.revision] === revision
    const isNews = news.isNews && hasDeadline(deployment)
    if (isCurrent && !isNews) return
    const added = condition({ type: 'Progressing', status: 'True', reason, message }, clock.now())
    const annotations = { ...deployment.metadata.annotations, [keys.revision]: revision }
    const { status = {} } = deployment
    await this.#writeStatus({
      ...deployment,
      metadata: { ...deployment.metadata, annotations },
      status: isNews ? withDeploymentCondition(status, added) : status,
    })
  }

  async #writeStatus(deployment: Deployment): Promise<void> {
    this.deployment = await this.#tools.deployments.updateStatus(deployment)
  }

  async #replace(wanted: ReplicaSet): Promise<void> {
    const set = await this.#tools.replicaSets.update(wanted)
    this.#tools.ownWrites.wrote(this.key, set)
    if (this.newest?.metadata.uid === set.metadata.uid) this.newest = set
    else this.old = this.old.map((other) => (other.metadata.uid === set.metadata.uid ? set : other))
  }
}
