/** A remote service that converts custom resources as a test says, and what a definition says to name it. */
import { startReviewRemote, type RemoteAnswer } from './review-remote.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- objects of all kinds
type Anything = any

export interface ConversionAsked {
  readonly apiVersion: string
  readonly kind: string
  readonly request: {
    readonly uid: string
    readonly desiredAPIVersion: string
    readonly objects: readonly Anything[]
  }
}

export interface ConversionRemote extends AsyncDisposable {
  /** All reviews so far, in order. */
  readonly asked: readonly ConversionAsked[]
  /** Changes a copy of one object, which has its new apiVersion by then. */
  convert: (object: Anything) => Anything
  /** The whole answer; undefined: all objects converted. */
  respond: (asked: ConversionAsked) => RemoteAnswer | undefined
  /** Where it is reached. */
  readonly url: string
  /** `spec.conversion` of a definition. */
  conversion(versions?: readonly string[], more?: object): Record<string, unknown>
}

export async function startConversionRemote(): Promise<ConversionRemote> {
  const remote = await startReviewRemote()
  const self: ConversionRemote = {
    asked: remote.asked as unknown as readonly ConversionAsked[],
    convert: (object) => object,
    respond: () => undefined,
    url: remote.url,
    conversion: (versions = ['v1'], more = {}) => ({
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: versions,
        clientConfig: { url: remote.url, caBundle: remote.caBundle, ...more },
      },
    }),
    [Symbol.asyncDispose]: () => remote.stop(),
  }
  remote.answer = (review) => {
    const asked = review as unknown as ConversionAsked
    const answer = self.respond(asked)
    if (answer !== undefined) return answer
    const { uid, desiredAPIVersion: apiVersion, objects } = asked.request
    const convertedObjects = objects.map((object) =>
      self.convert({ ...structuredClone(object), apiVersion }),
    )
    const { kind } = asked
    return {
      body: {
        apiVersion: asked.apiVersion,
        kind,
        response: { uid, result: { status: 'Success' }, convertedObjects },
      },
    }
  }
  return self
}
