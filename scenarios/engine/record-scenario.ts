/**
 * Recording: the writes of a user, as the request journal has them, become the steps of a scenario. Objects are read at the revisions that
 * the writes made, and between two writes the settled state becomes an `expect`. What cannot become a step becomes a comment.
 */
import { objectAt } from '../../cluster/history/oldest-revision.ts'
import { formatYaml } from '../../cluster/yaml.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import type { Client } from '../../components/client/client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { FindResource } from './find-resource.ts'
import { asWritten, lastApplied, mergePatchBetween, settledConditions } from './recorded-object.ts'

export interface RecordingOptions {
  readonly client: Client
  readonly findResource: FindResource
  /** How many nodes the cluster has. */
  readonly nodes: number
}

export interface Recording {
  /** Successful writes only are steps. In the order of the journal. */
  add(record: RequestRecord): void
  /** Resolves with the scenario as YAML when all that was added has been read. */
  finish(): Promise<string>
}

interface Touched {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  /** The revision that the last step about it left or the last expectation saw; `absent` where there was none, `deleted` after a deletion. */
  seen: string
}

type Step = Readonly<Record<string, unknown>>

const oneOf = ({ resource, namespace, name }: Touched) => ({
  ...(resource.namespaced ? { namespace } : {}),
  fieldSelector: `metadata.name=${name}`,
})

/** `default` goes without saying. */
const place = ({ resource, namespace, name }: Touched) => ({
  kind: resource.kind,
  ...(resource.group === '' ? {} : { apiVersion: apiVersionOf(resource) }),
  name,
  ...(!resource.namespaced || namespace === 'default' ? {} : { namespace }),
})

class ScenarioRecording implements Recording {
  readonly #options: RecordingOptions
  readonly #lines: string[] = []
  readonly #touched = new Map<string, Touched>()
  #work: Promise<void> = Promise.resolve()
  #count = 0

  constructor(options: RecordingOptions) {
    this.#options = options
  }

  add(record: RequestRecord): void {
    this.#work = this.#work.then(async () => {
      try {
        await this.#see(record)
      } catch (error) {
        this.#skip(record, messageOf(error))
      }
    })
  }

  async finish(): Promise<string> {
    await this.#work
    await this.#expectSettled(undefined)
    const head = formatYaml({
      description: `Recorded: ${this.#count} writes.`,
      cluster: { nodes: this.#options.nodes },
    })
    const steps = this.#count === 0 ? ' []\n# Nothing was written.\n' : '\n'
    return `${head}steps:${steps}${this.#lines.join('')}`
  }

  async #see(record: RequestRecord): Promise<void> {
    if (record.dryRun === true || record.resource === '') return
    if (record.status >= 300) return this.#skip(record, `it was answered ${record.status}`)
    const revision = Number(record.revision)
    if (!(revision > 0)) return
    if (record.verb === 'deletecollection' || record.name === '')
      return this.#skip(record, 'a deletion of many objects has no step: delete them one by one')
    const [, version = ''] = /^\/(?:api|apis\/[^/]+)\/([^/]+)\//.exec(record.path) ?? []
    const apiVersion = record.group === '' ? version : `${record.group}/${version}`
    const resource = await this.#options.findResource({ kind: record.resource, apiVersion })
    const { namespace, name } = record
    const key = `${resource.group}/${resource.plural} ${namespace}/${name}`
    const touched = this.#touched.get(key) ?? { resource, namespace, name, seen: '' }
    await this.#expectSettled(revision - 1)
    const step = await this.#stepOf(record, touched, revision)
    if (typeof step === 'string') return this.#skip(record, step)
    this.#touched.set(key, touched)
    touched.seen = record.verb === 'delete' ? 'deleted' : String(revision)
    this.#push(step)
    this.#count += 1
  }

  /** A step, or why there is none. */
  async #stepOf(record: RequestRecord, touched: Touched, revision: number): Promise<Step | string> {
    const { resource } = touched
    if (record.subresource !== '' && !['status', 'scale'].includes(record.subresource))
      return `there is no step for ${record.subresource}`
    if (record.verb === 'delete') return { delete: place(touched) }
    const objects = this.#options.client.resource(resource)
    const after = await objectAt(objects, oneOf(touched), revision)
    if (after === 'gone') return 'the server has forgotten the object'
    const typed = after && { ...after, apiVersion: apiVersionOf(resource), kind: resource.kind }
    const applied = typed === undefined ? undefined : lastApplied(typed)
    if (typed !== undefined && applied !== undefined && record.userAgent.startsWith('kubectl'))
      return { apply: applied }
    if (record.verb === 'create')
      return typed === undefined ? 'the object is gone' : { create: asWritten(typed) }
    const before = await objectAt(objects, oneOf(touched), revision - 1)
    if (before === 'gone') return 'the server has forgotten the object'
    if (typed === undefined) {
      // The write took the last finalizer, and the object with it.
      return { patch: { ...place(touched), patch: { metadata: { finalizers: null } } } }
    }
    if (before === undefined) return { apply: asWritten(typed) }
    const isStatus = record.subresource === 'status'
    const patch = mergePatchBetween(before, typed, isStatus ? 'status' : 'main')
    if (patch === undefined) return 'it changed nothing that a patch can set'
    return { patch: { ...place(touched), ...(isStatus ? { subresource: 'status' } : {}), patch } }
  }

  /** Expectations of what others have made of the objects since, up to a revision; undefined: up to now. */
  async #expectSettled(revision: number | undefined): Promise<void> {
    for (const touched of this.#touched.values()) {
      const objects = this.#options.client.resource(touched.resource)
      const object =
        revision === undefined
          ? (await objects.list(oneOf(touched))).items[0]
          : await objectAt(objects, oneOf(touched), revision)
      if (object === 'gone') continue
      const now = object?.metadata.resourceVersion ?? 'absent'
      const step = now === touched.seen ? undefined : expectOf(touched, object)
      if (step === undefined) continue
      this.#push(step)
      touched.seen = now
    }
  }

  #push(step: Step): void {
    const text = formatYaml([step]).trimEnd()
    this.#lines.push(...text.split('\n').map((line) => `  ${line}\n`))
  }

  #skip({ verb, path }: RequestRecord, why: string): void {
    this.#lines.push(`  # Not recorded: ${verb} of ${path}: ${why.replaceAll('\n', ' ')}\n`)
  }
}

const observed = 'object.status.observedGeneration == object.metadata.generation'

function expectOf(touched: Touched, object: KubeObject | undefined): Step | undefined {
  if (object === undefined) return { expect: { ...place(touched), absent: true } }
  const where = settledConditions(object)
  if (where.length === 0) return undefined
  // Otherwise the state before the last write could be taken for it.
  const hasGeneration = 'observedGeneration' in (object['status'] as object)
  const cel = hasGeneration ? { cel: observed } : {}
  return { expect: { ...place(touched), where, ...cel } }
}

export function createRecording(options: RecordingOptions): Recording {
  return new ScenarioRecording(options)
}
