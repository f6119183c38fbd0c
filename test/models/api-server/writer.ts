/** Sends the writes of a story, as clients do that remember what they read. */
import type { Identity } from '../../support/api-client.ts'
import { shown, type Shown } from './history.ts'
import type { Recorded, Recorder } from './recorder.ts'
import type { Request, StepOf } from './steps.ts'

/** What every client of a story shares: where, and what was heard of each object. */
export class Memory {
  readonly #objects = new Map<string, Shown[]>()
  readonly #versions: { revision: number; sinceMs: number }[] = []

  /** Versions that the collection had at a known time. */
  readonly #marks: { revision: number; atMs: number }[] = []

  /** The version that the collection has when the story begins. */
  start(revision: number, sinceMs: number): void {
    this.#note(revision, sinceMs)
  }

  /** The collection had that version at that time. */
  #note(revision: number, atMs: number): void {
    this.#marks.push({ revision, atMs })
    if (this.#versions.every((one) => one.revision !== revision)) {
      this.#versions.push({ revision, sinceMs: atMs })
    }
  }

  /** An object's version is old when nothing changed the object: all that is sure is which list it is younger than. */
  #noteOld(revision: number): void {
    if (this.#versions.some((one) => one.revision === revision)) return
    const older = this.#marks.filter((mark) => mark.revision < revision).map(({ atMs }) => atMs)
    this.#versions.push({ revision, sinceMs: Math.max(0, ...older) })
  }

  /** Takes note of what an answer showed. */
  learn(record: Recorded): void {
    const { reply } = record
    if (reply === undefined || reply.status >= 300 || reply.body.kind === 'Status') return
    const revision = Number(reply.body.metadata.resourceVersion)
    const isOfNow =
      reply.body.kind !== 'ConfigMap' && !/[?&](?:resourceVersion|continue)=/.test(record.path)
    if (isOfNow) this.#note(revision, record.endedAtMs)
    else this.#noteOld(revision)
    if (reply.body.kind !== 'ConfigMap') return
    const object = shown(reply.body as Shown)
    const { name } = object.metadata
    this.#objects.set(name, [...(this.#objects.get(name) ?? []), object])
  }

  /** The newest state heard of, or an older one. */
  known(name: string, isStale = false): Shown | undefined {
    const states = this.#objects.get(name) ?? []
    return isStale ? (states.at(-3) ?? states[0]) : states.at(-1)
  }

  /** A version with the time since when it is known; the beginning of time when only an event told of it. */
  since(revision: number): { revision: number; sinceMs: number } {
    return this.#versions.find((one) => one.revision === revision) ?? { revision, sinceMs: 0 }
  }

  /** A version heard of: 0 is the newest. */
  version(age: number): { revision: number; sinceMs: number } {
    const sorted = this.#versions.toSorted((a, b) => b.revision - a.revision)
    const found = sorted[Math.min(age, sorted.length - 1)]
    if (found === undefined) throw new Error('nothing was read yet')
    return found
  }
}

const json = (type: string) => ({ 'content-type': `application/${type}` })

function demanded(
  memory: Memory,
  request: { name: string; version: 'none' | 'known' | 'stale' },
): Shown | undefined {
  if (request.version === 'none') return undefined
  return memory.known(request.name, request.version === 'stale')
}

function patchBody(request: StepOf<'patch'>, id: string, known: Shown | undefined): unknown {
  const { label, releases } = request
  if (request.type === 'json') {
    const resourceVersion = known?.metadata.resourceVersion
    return [
      ...(resourceVersion === undefined
        ? []
        : [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }]),
      { op: 'add', path: '/data/op', value: id },
      { op: 'add', path: `/data/${id}`, value: request.type },
      { op: 'add', path: '/metadata/labels', value: label === undefined ? {} : { app: label } },
      ...(releases ? [{ op: 'add', path: '/metadata/finalizers', value: [] }] : []),
    ]
  }
  return {
    metadata: {
      labels: { app: label ?? null },
      ...(releases ? { finalizers: null } : {}),
      ...(known === undefined ? {} : { resourceVersion: known.metadata.resourceVersion }),
    },
    data: { op: id, [id]: request.type },
  }
}

/** Sends one write; undefined when the request is none. */
export async function write(
  request: Request,
  by: { recorder: Recorder; memory: Memory; at: string; as: Identity; id: string },
): Promise<Recorded | undefined> {
  const { recorder, memory, at, as, id } = by
  if (request.kind === 'create') {
    const { name, label, finalizer } = request
    const metadata = {
      name,
      labels: label === undefined ? {} : { app: label },
      ...(finalizer ? { finalizers: ['example.com/held'] } : {}),
    }
    const body = { metadata, data: { op: id } }
    return await recorder.send(request, { method: 'POST', path: at, body, as, id })
  }
  if (request.kind === 'put') {
    const { name, label } = request
    const known = demanded(memory, request)
    const metadata = {
      name,
      labels: label === undefined ? {} : { app: label },
      ...(known === undefined ? {} : { resourceVersion: known.metadata.resourceVersion }),
    }
    const body = { metadata, data: { op: id, put: id } }
    return await recorder.send(request, {
      method: 'PUT',
      path: `${at}/${name}`,
      body,
      as,
      id,
      known,
    })
  }
  if (request.kind === 'patch') {
    const known = demanded(memory, request)
    const headers =
      request.type === 'strategic'
        ? json('strategic-merge-patch+json')
        : json(`${request.type}-patch+json`)
    const path = `${at}/${request.name}`
    const body = patchBody(request, id, known)
    return await recorder.send(request, { method: 'PATCH', path, body, headers, as, id, known })
  }
  if (request.kind === 'delete') {
    const { name, precondition } = request
    const known = precondition === 'none' ? undefined : memory.known(name, precondition === 'stale')
    const preconditions =
      precondition === 'uid'
        ? { uid: known?.metadata.uid }
        : { resourceVersion: known?.metadata.resourceVersion }
    const body = known === undefined ? {} : { preconditions }
    return await recorder.send(request, {
      method: 'DELETE',
      path: `${at}/${name}`,
      body,
      as,
      known,
    })
  }
  if (request.kind !== 'deletecollection') return undefined
  const { query, isOfAll } = request.selection
  // Across namespaces nothing is deleted: there it means all of this one.
  const path = isOfAll ? at : `${at}?${query}`
  return await recorder.send(request, { method: 'DELETE', path, as })
}
