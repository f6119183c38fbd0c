/** decode-wording: errors for a value that does not fit its kind. Bodies and patches have different texts. */
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import { badRequest, invalid, StatusError } from '../../machinery/objects/status-error.ts'
import { versionPart, type BodyKind } from './body-kind.ts'

export interface DecodeWording {
  /** Whether the object was made of a map and not of text: upstream's converter has its own words for what does not fit. */
  readonly isConverted: boolean
  /** The kind cannot be found out. */
  unrecognized(why: string, cause?: unknown): StatusError
  /** It says that it is of that kind, which does not fit or of which a field does not. */
  unusable(sent: Pick<BodyKind, 'kind' | 'apiVersion'>, why: string): StatusError
}

const shownBytes = 30
const openBrace = 0x7b

/** The start of an object as text, of anything else in hex (upstream: summarizeData). */
function summaryOf(body: Buffer): string {
  if (body.length === 0) return '<empty>'
  const encoding = body[0] === openBrace ? 'utf8' : 'hex'
  const more = body.length > shownBytes ? ' ...' : ''
  return body.toString(encoding, 0, shownBytes) + more
}

/** 400 for a body of the wanted kind (upstream: transformDecodeError). */
export function bodyWording(wanted: BodyKind, body: Buffer): DecodeWording {
  return {
    isConverted: false,
    unrecognized: (why, cause) =>
      new StatusError(
        'BadRequest',
        `the object provided is unrecognized (must be of type ${wanted.kind}): ${why} (${summaryOf(body)})`,
        { cause },
      ),
    unusable: (sent, why) =>
      badRequest(
        `${sent.kind} in version "${versionPart(sent.apiVersion)}" cannot be handled as a ${wanted.kind}: ${why}`,
      ),
  }
}

/** 422 for what a patch made of an object; `shown` is called for the text of the one or the other only then. */
export function patchWording(
  shown: () => string,
  { isConverted }: { isConverted: boolean },
): DecodeWording {
  const refuse = (why: string) =>
    invalid({ group: '', kind: '' }, '', [invalidValue('patch', { value: shown(), detail: why })])
  return { isConverted, unrecognized: refuse, unusable: (_, why) => refuse(why) }
}
