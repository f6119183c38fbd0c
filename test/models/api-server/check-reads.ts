/** Every get and list shows one state that was, none older than what had been told; pages are one list. */
import assert from 'node:assert/strict'
import { isSame, shown, type History, type Shown } from './history.ts'
import { itemsOf, listRevision, type Listing, type Reader } from './reader.ts'
import type { Recorded, Recorder } from './recorder.ts'
import type { StepOf } from './steps.ts'
import { everything } from './selections.ts'

export function checkReads(recorder: Recorder, history: History, reader: Reader): void {
  for (const record of recorder.records) {
    if (record.request.kind === 'get') checkGet(record, record.request, { recorder, history })
  }
  for (const listing of reader.listings) checkListing(listing, { recorder, history })
}

interface Known {
  readonly recorder: Recorder
  readonly history: History
}

const said = ({ method, path, reply }: Recorded): string =>
  `${method} ${path} answered ${reply?.status} ${reply?.text}`

function checkGet(record: Recorded, request: StepOf<'get'>, { recorder, history }: Known): void {
  const { reply } = record
  if (reply === undefined) return
  if (request.at === 'future') {
    assert.equal(reply.status, 504, said(record))
    return
  }
  assert.ok(reply.status === 200 || reply.status === 404, said(record))
  const object = reply.status === 200 ? shown(reply.body as Shown) : undefined
  const isTrue = history.held(recorder.window(record, history), (state) =>
    isSame(state.get(request.name), object),
  )
  assert.ok(isTrue, `${said(record)}, but that was never so`)
}

function checkListing(listing: Listing, { recorder, history }: Known): void {
  const { mode, asked, pages, selection } = listing
  let revision = 0
  let sinceMs = 0
  let expected: readonly Shown[] = []
  for (const [index, { record, limit }] of pages.entries()) {
    const { reply } = record
    if (reply === undefined) return
    if (mode === 'future') {
      assert.equal(reply.status, 504, said(record))
      return
    }
    const isExact = index > 0 || mode === 'exact'
    if (reply.status === 410 && isExact) {
      const at = index > 0 ? { revision, sinceMs } : asked
      assert.ok(recorder.mayBeGone(at, record), `${said(record)} too early`)
      return
    }
    assert.equal(reply.status, 200, said(record))
    if (index === 0) {
      revision = listRevision(record)
      sinceMs = mode === 'exact' ? asked.sinceMs : record.endedAtMs
      if (mode === 'exact') assert.equal(revision, asked.revision, said(record))
      else {
        const low = recorder.low(record, history)
        assert.ok(revision >= low, `${said(record)}, but ${low} had been told before`)
        if (mode !== 'newest' && mode !== 'zero') assert.ok(revision >= asked.revision)
      }
      if (history.isInGap(revision)) return
      expected = history.list(revision, selection)
    }
    assert.equal(listRevision(record), revision, `${said(record)}: a page of another revision`)
    const count = limit === 0 ? expected.length : limit
    assert.deepEqual(itemsOf(record), expected.slice(0, count), said(record))
    expected = expected.slice(count)
    const { metadata } = reply.body as {
      metadata: { continue?: string; remainingItemCount?: number }
    }
    assert.equal((metadata.continue ?? '') !== '', expected.length > 0, said(record))
    const counted = selection === everything && expected.length > 0 ? expected.length : undefined
    assert.equal(metadata.remainingItemCount, counted, said(record))
  }
}
