/** Reviews to admission and conversion webhooks, without a server: where they go, which answers count, what an error says. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import {
  createReviewSender,
  WebhookCallError,
  type ReviewTarget,
} from '../../../components/api-server/egress/review-sender.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { standIn, type StandInAnswer } from '../../support/stand-in.ts'

const { services, endpoints } = resourcesOf(dialects.kubernetes)
const origin = 'https://hooks.example'
const byUrl: ReviewTarget = {
  url: `${origin}/check`,
  service: undefined,
  ca: undefined,
  timeoutMs: 2000,
}
const review = { kind: 'AdmissionReview', request: { uid: 'u' } }

function setUp(maxAnswerBytes?: number) {
  const reader = new FakeReader()
  const clock = new FakeClock()
  const egress = { cluster: undefined, controlplane: undefined }
  const sender = createReviewSender({
    reader,
    services,
    endpoints,
    clock,
    egress,
    ...(maxAnswerBytes === undefined ? {} : { maxAnswerBytes }),
  })
  onTestFinished(() => sender.keep([]))
  return { sender, reader, clock }
}

/** The error of a review to a webhook that answers like this. */
async function errorOf(answer: StandInAnswer, maxAnswerBytes?: number): Promise<WebhookCallError> {
  standIn(origin, () => answer)
  const { sender } = setUp(maxAnswerBytes)
  return await sender.send(byUrl, review).then(
    () => expect.unreachable('the review was answered'),
    (error: unknown) => error as WebhookCallError,
  )
}

describe('a review', () => {
  test('goes to the URL of the webhook, with the time limit as a parameter', async () => {
    const requests = standIn(origin, () => ({ status: 206, body: '{"response":{}}' }))
    expect(await setUp().sender.send(byUrl, review)).toEqual({ response: {} })
    expect(requests).toEqual([
      expect.objectContaining({
        method: 'POST',
        path: '/check?timeout=2s',
        body: JSON.stringify(review),
      }),
    ])
    expect(requests[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      host: 'hooks.example',
    })
  })

  test('goes to an endpoint of the webhook’s service, under the name of the service', async () => {
    const requests = standIn('https://10.0.0.5:8443', () => ({ body: '{}' }))
    const { sender, reader } = setUp()
    const metadata = { namespace: 'tools', name: 'checker' }
    reader.put(services, { metadata, spec: { ports: [{ name: 'https', port: 443 }] } })
    reader.put(endpoints, {
      metadata,
      subsets: [{ addresses: [{ ip: '10.0.0.5' }], ports: [{ name: 'https', port: 8443 }] }],
    })
    const service = { namespace: 'tools', name: 'checker', path: '/pods' }
    expect(await sender.send({ ...byUrl, url: undefined, service }, review)).toEqual({})
    expect(requests).toEqual([expect.objectContaining({ path: '/pods?timeout=2s' })])
    expect(requests[0]?.headers['host']).toBe('checker.tools.svc')
  })

  test.each([
    ['', '/'],
    ['/', '/'],
    ['//validate/', '/validate'],
    ['/a/../b//c', '/b/c'],
  ])('asks for %j as %j, without empty segments and a slash at its end', async (path, asked) => {
    const requests = standIn(origin, () => ({ body: '{}' }))
    await setUp().sender.send({ ...byUrl, url: `${origin}${path}` }, review)
    expect(requests).toEqual([expect.objectContaining({ path: `${asked}?timeout=2s` })])
  })

  test('is sent once, whatever comes back', async () => {
    const requests = standIn(origin, () => ({ status: 503 }))
    await expect(setUp().sender.send(byUrl, review)).rejects.toThrow(WebhookCallError)
    expect(requests).toHaveLength(1)
  })
})

test.each<[number, string]>([
  [302, 'the server responded with the status code 302 but did not return more information'],
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [500, 'an error on the server ("broken") has prevented the request from succeeding'],
  [503, 'the server is currently unable to handle the request'],
])('the status %d is an error with its code', async (status, why) => {
  expect(await errorOf({ status, body: 'broken' })).toMatchObject({
    code: status,
    why,
    message: `failed to call webhook: ${why}`,
  })
})

describe('an answer is an error', () => {
  test('when it is no JSON', async () => {
    const error = await errorOf({ body: 'yes' })
    expect(error).toMatchObject({ code: 0, why: "couldn't get version/kind; json parse error" })
  })

  test('when it is larger than allowed', async () => {
    const { message } = await errorOf({ body: JSON.stringify('x'.repeat(100)) }, 100)
    expect(message).toBe(
      'failed to call webhook: Post "https://hooks.example/check?timeout=2s": the answer is larger than 100 bytes',
    )
  })

  test('when it does not come in time', async () => {
    const requests = standIn(origin, () => new Promise<never>(() => {}))
    const { sender, clock } = setUp()
    const failed = expect(sender.send(byUrl, review)).rejects.toThrow('context deadline exceeded')
    await eventually(() => expect(requests).toHaveLength(1))
    await clock.step(2000)
    await failed
  })
})

test('a service without endpoints is an error that names it', async () => {
  const { sender, reader } = setUp()
  const service = { namespace: 'tools', name: 'checker' }
  const target = { ...byUrl, url: undefined, service }
  await expect(sender.send(target, review)).rejects.toThrow(
    'Post "https://checker.tools.svc:443/?timeout=2s": service "checker" not found',
  )
  reader.put(services, { metadata: service, spec: { ports: [{ port: 443 }] } })
  await expect(sender.send(target, review)).rejects.toThrow('endpoints "checker" not found')
})
