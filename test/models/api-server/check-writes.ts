/** Every answered write is one commit with the content it must have, every refusal has a reason, every commit has a writer. */
import assert from 'node:assert/strict'
import { isSame, revisionOf, shown, type Commit, type History, type Shown } from './history.ts'
import { deletionOf, type Recorded, type Recorder } from './recorder.ts'
import type { StepOf } from './steps.ts'

/** The part of an object that the model knows. */
interface Content {
  readonly labels: Readonly<Record<string, string>>
  readonly data: Readonly<Record<string, string>>
  readonly finalizers: readonly string[]
  readonly isDeleting: boolean
}

type Change = StepOf<'create'> | StepOf<'put'> | StepOf<'patch'>

function contentOf({ metadata, data = {} }: Shown): Content {
  const { labels = {}, finalizers = [], deletionTimestamp } = metadata
  return { labels, data, finalizers, isDeleting: deletionTimestamp !== undefined }
}

/** What a write makes of the state before it. */
function changed(previous: Shown | undefined, request: Change, id: string): Content {
  const labels = request.label === undefined ? {} : { app: request.label }
  const before = previous === undefined ? undefined : contentOf(previous)
  const isDeleting = before?.isDeleting ?? false
  if (request.kind === 'create') {
    const finalizers = request.finalizer ? ['example.com/held'] : []
    return { labels, data: { op: id }, finalizers, isDeleting: false }
  }
  if (request.kind === 'put') {
    return { labels, data: { op: id, put: id }, finalizers: [], isDeleting }
  }
  const data = { ...before?.data, op: id, [id]: request.type }
  return {
    labels,
    data,
    finalizers: request.releases ? [] : (before?.finalizers ?? []),
    isDeleting,
  }
}

const show = (value: unknown): string => JSON.stringify(value)

export function checkWrites(
  recorder: Recorder,
  history: History,
  options: { ignored: string },
): void {
  const uids = new Set<string>()
  for (const record of recorder.records) {
    const { request } = record
    if (request.kind === 'create' || request.kind === 'put' || request.kind === 'patch') {
      checkChange(record, request, { recorder, history })
    } else if (request.kind === 'delete') {
      checkDelete(record, request, { recorder, history, uids })
    } else if (request.kind === 'deletecollection') {
      checkDeleteMany(record, request, { recorder, history })
    }
  }
  const byId = new Map(recorder.records.map((record) => [record.id, record]))
  for (const commit of history.commits) {
    if (commit.name === options.ignored || history.isInGap(commit.revision)) continue
    checkCommit(commit, { recorder, history, byId })
  }
}

interface Known {
  readonly recorder: Recorder
  readonly history: History
}

function checkChange(record: Recorded, request: Change, { recorder, history }: Known): void {
  const { reply } = record
  if (reply === undefined) return
  const { name } = request
  const window = recorder.window(record, history)
  const said = `${record.method} ${record.path} ${record.id} answered ${reply.status} ${reply.text}`
  const couldBe = (claim: (there: Shown | undefined) => boolean): void =>
    assert.ok(
      history.held(window, (state) => claim(state.get(name))),
      `${said}, but that was never so`,
    )
  const version = record.known?.metadata.resourceVersion
  if (reply.status === 404) couldBe((there) => there === undefined && request.kind !== 'create')
  else if (reply.status === 409) {
    couldBe((there) =>
      request.kind === 'create'
        ? there !== undefined
        : there !== undefined &&
          version !== undefined &&
          there.metadata.resourceVersion !== version,
    )
  } else if (reply.status === 422 && request.kind === 'patch' && request.type === 'json') {
    couldBe(
      (there) =>
        there !== undefined && version !== undefined && there.metadata.resourceVersion !== version,
    )
  } else {
    assert.equal(reply.status, request.kind === 'create' ? 201 : 200, said)
    const object = shown(reply.body as Shown)
    const revision = revisionOf(object)
    if (history.isInGap(revision)) return
    const commit = history.at(revision)
    assert.ok(commit !== undefined, `${said}, but no event told of it`)
    assert.ok(revision > window.low, `${said}, but ${window.low} had been told before`)
    const previous = history.state(revision - 0.5).get(name)
    assert.equal(previous === undefined, request.kind === 'create', said)
    if (version !== undefined) assert.equal(previous?.metadata.resourceVersion, version, said)
    if (previous !== undefined) assert.equal(object.metadata.uid, previous.metadata.uid, said)
    const content = contentOf(object)
    if (history.isWhole(revisionOf(previous ?? object) - 1, revision)) {
      assert.deepEqual(content, changed(previous, request, record.id), said)
    }
    if (content.isDeleting && content.finalizers.length === 0) {
      assert.equal(commit.object, undefined, `${said}: what nothing holds any more stays`)
    } else assert.deepEqual(commit.object, object, `${said}: the event shows another object`)
  }
}

function checkDelete(
  record: Recorded,
  request: StepOf<'delete'>,
  { recorder, history, uids }: Known & { uids: Set<string> },
): void {
  const { reply, known } = record
  if (reply === undefined) return
  const window = recorder.window(record, history)
  const { name, precondition } = request
  const said = `DELETE ${name} (${precondition} ${show(known?.metadata)}) answered ${reply.status} ${reply.text}`
  const fits = (there: Shown): boolean =>
    known === undefined ||
    (precondition === 'uid'
      ? there.metadata.uid === known.metadata.uid
      : there.metadata.resourceVersion === known.metadata.resourceVersion)
  const couldBe = (claim: (there: Shown | undefined) => boolean): void =>
    assert.ok(
      history.held(window, (state) => claim(state.get(name))),
      `${said}, but that was never so`,
    )
  if (reply.status === 404) couldBe((there) => there === undefined)
  else if (reply.status === 409) couldBe((there) => there !== undefined && !fits(there))
  else {
    assert.equal(reply.status, 200, said)
    if (reply.body.kind === 'Status') {
      const uid = reply.body.details.uid as string
      assert.ok(!uids.has(uid), `${said}, but another delete of that object had succeeded`)
      uids.add(uid)
      const revision = deletionOf(uid, history)
      if (!history.isWhole(window.low)) return
      assert.ok(revision !== undefined && revision > window.low, `${said}, but it is there`)
      assert.ok(fits(history.state(revision - 0.5).get(name) as Shown), said)
      return
    }
    const object = shown(reply.body as Shown)
    assert.ok(object.metadata.deletionTimestamp !== undefined, said)
    couldBe((there) => isSame(there, object))
  }
}

function checkDeleteMany(
  record: Recorded,
  request: StepOf<'deletecollection'>,
  { recorder, history }: Known,
): void {
  const { reply } = record
  if (reply === undefined) return
  const said = `${record.method} ${record.path} answered ${reply.status} ${reply.text}`
  assert.equal(reply.status, 200, said)
  const { low } = recorder.window(record, history)
  const revision = revisionOf(reply.body as Shown)
  assert.ok(revision >= low, `${said}, but ${low} had been told before`)
  if (!history.isWhole(revision)) return
  const items = (reply.body.items as Shown[]).map(shown)
  assert.deepEqual(items, history.list(revision, request.selection), said)
  for (const { metadata } of items) {
    const isGone = history.held({ low: revision, high: Infinity }, (state) => {
      const there = state.get(metadata.name)
      return there?.metadata.uid !== metadata.uid || contentOf(there).isDeleting
    })
    assert.ok(isGone, `${said}, but ${metadata.name} was never deleted`)
  }
}

/** A commit nobody asked for, or asked for and was refused, is half of something that should not be. */
function checkCommit(
  commit: Commit,
  { recorder, history, byId }: Known & { byId: ReadonlyMap<string, Recorded> },
): void {
  const { revision, name, object } = commit
  const previous = history.state(revision - 0.5).get(name)
  const said = `commit ${revision} of ${name}: ${show(object)}`
  const id = object?.data?.['op'] ?? ''
  if (object !== undefined && previous?.data?.['op'] !== id) {
    const { reply } = byId.get(id) ?? {}
    assert.ok(byId.has(id), `${said} was made by nobody`)
    if (reply === undefined) return
    assert.ok(reply.status < 300, `${said} was answered with ${reply.text}`)
    assert.equal(Number(reply.body.metadata.resourceVersion), revision, said)
    return
  }
  if (object !== undefined) assert.ok(contentOf(object).isDeleting, `${said} changes nothing`)
  const isExplained = recorder.records.some(({ request, reply }) => {
    if (reply !== undefined && reply.status >= 300) return false
    if (request.kind === 'deletecollection') return true
    if (!('name' in request) || request.name !== name) return false
    if (request.kind === 'delete') return true
    const told = reply?.body.metadata?.resourceVersion as string | undefined
    return object === undefined && (told === undefined || Number(told) === revision)
  })
  assert.ok(isExplained, `${said} was asked for by nobody`)
}
