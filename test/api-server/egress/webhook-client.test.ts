/** Reviews by webhook, without a server: what is sent, what is retried, which answers count. */
import { describe, expect, test } from 'vitest'
import { createWebhookClient } from '../../../components/api-server/egress/webhook-client.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { standIn, type StandInAnswer, type StandInRequest } from '../../support/stand-in.ts'

const origin = 'https://reviews.example'
const review = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenReview',
  spec: { token: 'a-token' },
}
const { apiVersion, kind } = review
const answered = (body: unknown): StandInAnswer => ({ body: JSON.stringify(body) })
const good = answered({ apiVersion, kind, status: { authenticated: true } })

/** A client whose waits between attempts end at once and are recorded. */
function setUp(answer: (request: StandInRequest) => StandInAnswer | Promise<StandInAnswer>) {
  const requests = standIn(origin, answer)
  const clock = new FakeClock()
  const waitsMs: number[] = []
  clock.sleep = async (ms) => void waitsMs.push(ms)
  const connection = { url: `${origin}/review`, token: 'own-token' }
  const client = createWebhookClient(connection, { clock, timeoutMs: 3000 })
  return { client, clock, requests, waitsMs }
}

/** Answers that come one after another; the last one stays. */
function inTurn(...answers: StandInAnswer[]): () => StandInAnswer {
  return () => (answers.length > 1 ? answers.shift() : answers[0]) ?? 'unreachable'
}

test('a review is posted with the credentials of the connection, and its status comes back', async () => {
  const { client, requests } = setUp(() => good)
  expect(await client.review(review)).toEqual({ authenticated: true })
  expect(requests).toHaveLength(1)
  expect(requests[0]).toMatchObject({
    method: 'POST',
    path: '/review',
    headers: { authorization: 'Bearer own-token', 'content-type': 'application/json' },
  })
  expect(JSON.parse(requests[0]?.body ?? '')).toEqual(review)
  client.close()
})

describe('a call that may succeed later', () => {
  test.each([429, 500, 502, 503])('is repeated after %d', async (status) => {
    const { client, requests, waitsMs } = setUp(inTurn({ status }, 'unreachable', good))
    expect(await client.review(review)).toEqual({ authenticated: true })
    expect(requests).toHaveLength(3)
    const [first = 0, then = 0] = waitsMs
    expect(first).toBeGreaterThanOrEqual(500)
    expect(first).toBeLessThanOrEqual(600)
    expect(then).toBeGreaterThanOrEqual(750)
    expect(then).toBeLessThanOrEqual(900)
    client.close()
  })

  test('is given up after five attempts', async () => {
    const { client, requests, waitsMs } = setUp(() => ({ status: 503 }))
    await expect(client.review(review)).rejects.toThrow(
      'failed to make webhook call: POST https://reviews.example: answered 503',
    )
    expect(requests).toHaveLength(5)
    expect(waitsMs).toHaveLength(4)
    client.close()
  })
})

describe('a call is not repeated', () => {
  test.each([302, 400, 401, 403, 404, 501])('after %d', async (status) => {
    const { client, requests } = setUp(() => ({ status }))
    await expect(client.review(review)).rejects.toThrow(`answered ${status}`)
    expect(requests).toHaveLength(1)
    client.close()
  })

  test('after its time limit', async () => {
    const { client, clock, requests } = setUp(() => new Promise<never>(() => {}))
    const asking = client.review(review)
    const failed = expect(asking).rejects.toThrow('no answer within 3 seconds')
    await eventually(() => expect(requests).toHaveLength(1))
    await clock.step(3000)
    await failed
    expect(requests).toHaveLength(1)
    client.close()
  })
})

test.each<[string, StandInAnswer, string]>([
  ['no JSON', { body: 'yes' }, 'the answer is no JSON'],
  ['another version', answered({ apiVersion: 'v1', kind, status: {} }), 'got v1, Kind=TokenReview'],
  ['another kind', answered({ apiVersion, kind: 'Pod', status: {} }), 'Kind=Pod'],
  ['no status', answered({ apiVersion, kind }), 'the answer has no status'],
  ['a list as status', answered({ apiVersion, kind, status: [] }), 'the answer has no status'],
  ['more than is read', { body: 'x'.repeat(1024 * 1024 + 1) }, 'larger than 1048576 bytes'],
])('an answer of %s is an error', async (_, answer, why) => {
  const { client } = setUp(() => answer)
  await expect(client.review(review)).rejects.toThrow(why)
  client.close()
})
