/** Reads the whole history of a namespace from one watch of it, and finds out what it can when a server died. */
import assert from 'node:assert/strict'
import { admin, type Reply, type TestWatch } from '../../support/api-client.ts'
import { revisionOf, shown, type History, type Shown } from './history.ts'
import type { Recorder } from './recorder.ts'
import { everything } from './selections.ts'
import type { Subject } from './subject.ts'

export class Oracle {
  readonly #subject: Subject
  readonly #recorder: Recorder
  readonly #history: History
  readonly #at: string
  #watch: TestWatch | undefined
  /** The newest revision read. */
  #revision = 0

  constructor(options: { subject: Subject; recorder: Recorder; history: History; at: string }) {
    this.#subject = options.subject
    this.#recorder = options.recorder
    this.#history = options.history
    this.#at = options.at
  }

  async #list(): Promise<Reply> {
    const reply = await this.#subject.request('GET', this.#at, { as: admin })
    assert.equal(reply.status, 200, reply.text)
    return reply
  }

  async #follow(): Promise<void> {
    // Stories last for hours; left alone, the server ends a watch within one.
    const query = `watch=1&timeoutSeconds=1000000&resourceVersion=${this.#revision}`
    this.#watch = await this.#subject.watch(`${this.#at}?${query}`, { as: admin })
  }

  /** Begins where the collection is now, which is told. */
  async start(): Promise<Reply> {
    const reply = await this.#list()
    assert.deepEqual(reply.body.items, [], 'a story begins with an empty namespace')
    this.#revision = revisionOf(reply.body as Shown)
    await this.#follow()
    return reply
  }

  #take(events: readonly { type: string; object: Shown }[]): void {
    for (const { type, object } of events) {
      const revision = revisionOf(object)
      assert.ok(
        revision > this.#revision,
        `an event of ${revision} came after one of ${this.#revision}`,
      )
      this.#revision = revision
      this.#history.add({
        revision,
        name: object.metadata.name,
        object: type === 'DELETED' ? undefined : shown(object),
      })
    }
  }

  #takeWaiting(): void {
    const waiting = this.#watch?.waiting as { type: string; object: Shown }[]
    this.#take(waiting.splice(0))
  }

  /** Reads until `revision`, which something of this namespace has. */
  async readTo(revision: number): Promise<void> {
    this.#takeWaiting()
    while (this.#revision < revision) {
      assert.ok(this.#watch !== undefined)
      this.#take([await this.#watch.next()])
    }
  }

  /** Once the killed server is back: goes on, or lists where it has forgotten what there was. */
  async resume(): Promise<void> {
    await this.#watch?.ended
    this.#takeWaiting()
    const list = await this.#list()
    const reached = revisionOf(list.body as Shown)
    const promised = this.#recorder.newestTold()
    assert.ok(reached >= promised, `${promised} had been told, but a list is at ${reached}`)
    while (this.#recorder.floors.length < this.#recorder.kills) this.#recorder.floors.push(reached)
    try {
      await this.#follow()
      return
    } catch (error) {
      assert.equal((error as { status?: number }).status, 410, String(error))
    }
    this.#fill(list, reached)
    this.#revision = reached
    await this.#follow()
  }

  /** Between the last event and the list: what was acknowledged, and what the list shows. */
  #fill(list: Reply, reached: number): void {
    const history = this.#history
    history.addGap(this.#revision, reached)
    for (const { reply } of this.#recorder.records) {
      if (reply === undefined || reply.status >= 300 || reply.body.kind !== 'ConfigMap') continue
      this.#fillOne(shown(reply.body as Shown), reached)
    }
    const items = (list.body.items as Shown[]).map(shown)
    for (const object of items) this.#fillOne(object, reached)
    const there = new Set(items.map(({ metadata }) => metadata.name))
    const gone = [...history.state(reached).keys()].filter((name) => !there.has(name))
    for (const [index, name] of gone.entries()) {
      // Nobody told when; a revision that no commit has keeps them apart.
      history.add({ revision: reached - (index + 1) / 1000, name, object: undefined })
    }
    // An acknowledged write that is not there was lost, and so was an acknowledged deletion of what is.
    assert.deepEqual(items, history.list(reached, everything), 'the list after a kill')
    const deleted = this.#recorder.deletedUids()
    for (const { metadata } of items) assert.ok(!deleted.has(metadata.uid), metadata.name)
  }

  #fillOne(object: Shown, reached: number): void {
    const revision = revisionOf(object)
    if (revision <= this.#revision || revision > reached) return
    const { name, deletionTimestamp, finalizers = [] } = object.metadata
    const isGone = deletionTimestamp !== undefined && finalizers.length === 0
    this.#history.add({ revision, name, object: isGone ? undefined : object })
  }

  close(): void {
    this.#watch?.close()
  }
}
