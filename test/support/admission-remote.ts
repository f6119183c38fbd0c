/** A remote service for admission tests: answers AdmissionReviews as a test says, and configurations that name it. */
import type { TestApiServer } from './api-server.ts'
import { startReviewRemote, type RemoteAnswer, type ReviewRemote } from './review-remote.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into requests of all kinds
export type AdmissionAsked = Readonly<Record<string, any>>

export interface AdmissionRemote extends AsyncDisposable {
  readonly remote: ReviewRemote
  /** The requests of all reviews so far, in order. */
  asked(): AdmissionAsked[]
  /** How the next reviews are answered: a `response` without its uid, or anything else that a remote can do. */
  respond: (request: AdmissionAsked, path: string) => AdmissionResponse | { raw: RemoteAnswer }
  /** One webhook of a configuration, called at the path of its name; the rules are for ConfigMaps unless given. */
  webhook(name: string, more?: object): Record<string, unknown>
  /** Acts in a fresh namespace while webhooks are configured; `asked` is what they were asked meanwhile. */
  during(
    server: TestApiServer,
    of: { mutating?: readonly object[]; validating?: readonly object[] },
    act: (at: { ns: string; maps: string; asked: () => AdmissionAsked[] }) => Promise<void>,
  ): Promise<void>
}

export interface AdmissionResponse {
  readonly allowed: boolean
  readonly status?: object
  readonly warnings?: string[]
  readonly auditAnnotations?: Record<string, string>
  /** Operations of a JSON patch. */
  readonly patch?: readonly object[]
}

export const configMapRule = {
  operations: ['*'],
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['configmaps'],
}

export async function startAdmissionRemote(): Promise<AdmissionRemote> {
  const remote = await startReviewRemote()
  const self: AdmissionRemote = {
    remote,
    asked: () => remote.asked.map((review) => requestOf(review)),
    respond: () => ({ allowed: true }),
    webhook: (name, more = {}) => ({
      name,
      clientConfig: { url: `${remote.url}/${name}`, caBundle: remote.caBundle },
      rules: [configMapRule],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...more,
    }),
    async during(server, of, act) {
      self.respond = () => ({ allowed: true })
      const ns = await server.namespace()
      const before = self.asked().length
      const undo: (() => Promise<void>)[] = []
      if (of.mutating) undo.push(await configureWebhooks(server, 'Mutating', of.mutating))
      if (of.validating) undo.push(await configureWebhooks(server, 'Validating', of.validating))
      try {
        const asked = () => self.asked().slice(before)
        await act({ ns, maps: `/api/v1/namespaces/${ns}/configmaps`, asked })
      } finally {
        for (const one of undo) await one()
      }
    },
    [Symbol.asyncDispose]: () => remote.stop(),
  }
  remote.answer = (review, path) => {
    const request = requestOf(review)
    const answer = self.respond(request, path.split('?')[0]?.split('/').at(-1) ?? '')
    if ('raw' in answer) return answer.raw
    const { patch, ...response } = answer
    const encoded =
      patch === undefined
        ? {}
        : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
    return {
      body: {
        apiVersion: review.apiVersion,
        kind: review.kind,
        response: { uid: request['uid'] as unknown, ...response, ...encoded },
      },
    }
  }
  return self
}

function requestOf(review: object): AdmissionAsked {
  return (review as { request: AdmissionAsked }).request
}

/** Creates a configuration of such webhooks; returns the way to delete it. */
export async function configureWebhooks(
  server: TestApiServer,
  kind: 'Mutating' | 'Validating',
  webhooks: readonly object[],
  name = 'hooks',
): Promise<() => Promise<void>> {
  const at = `/apis/${server.group('admissionregistration')}/v1/${kind.toLowerCase()}webhookconfigurations`
  await server.ok('POST', at, { body: { metadata: { name }, webhooks } })
  return async () => void (await server.ok('DELETE', `${at}/${name}`))
}
