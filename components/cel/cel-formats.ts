/** Named formats of texts: `format.dns1123Label().validate(text)` (upstream: apiserver/pkg/cel/library/format.go). */
import type { CelMap } from '@bufbuild/cel'
import {
  labelValue,
  objectName,
  objectNamePrefix,
  qualifiedName,
} from '../machinery/validation/names.ts'
import { box, createLibrary, unbox, type Library } from './cel-library.ts'
import { optionalNone, optionalWith } from './cel-optional.ts'
import { listOf, opaque, optionalOf, string } from './cel-types.ts'

const format = opaque('kubernetes.NamedFormat')

type Rule = (text: string) => readonly string[]

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const dateTime = /^(\d{4}-\d{2}-\d{2})[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/

const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
const must =
  (isValid: (text: string) => boolean, why: string): Rule =>
  (text) =>
    isValid(text) ? [] : [why]

function uriFaults(text: string): string[] {
  if (text === '') return ['parse "": empty url']
  const isUsable = text.startsWith('/') || URL.canParse(text)
  return isUsable ? [] : [`parse ${JSON.stringify(text)}: invalid URI for request`]
}

const rules: Readonly<Record<string, Rule>> = {
  dns1123Label: (text) => objectName(text, 'label'),
  dns1123Subdomain: (text) => objectName(text, 'subdomain'),
  dns1035Label: (text) => objectName(text, 'label-1035'),
  qualifiedName,
  dns1123LabelPrefix: (text) => objectNamePrefix(text, 'label'),
  dns1123SubdomainPrefix: (text) => objectNamePrefix(text, 'subdomain'),
  dns1035LabelPrefix: (text) => objectNamePrefix(text, 'label-1035'),
  labelValue,
  uri: uriFaults,
  uuid: must((text) => uuid.test(text), 'does not match the UUID format'),
  byte: must((text) => base64.test(text), 'invalid base64'),
  date: must(isDate, 'invalid date'),
  datetime: must((text) => isDate(dateTime.exec(text)?.[1] ?? ''), 'invalid datetime'),
}

const { define, method, library } = createLibrary()

for (const name of Object.keys(rules)) {
  define(`format.${name}`, [[], format], () => box(format, name))
}
define('format.named', [[string], optionalOf(format)], (name: string) =>
  Object.hasOwn(rules, name)
    ? optionalWith(new Map(Object.entries(box(format, name))))
    : optionalNone)
method(
  'validate',
  [format, [string], optionalOf(listOf(string))],
  (value: CelMap, text: string) => {
    const faults = rules[unbox(format, value)]?.(text) ?? []
    return faults.length === 0 ? optionalNone : optionalWith([...faults])
  },
)

/** These functions. */
export const formatLibrary: Library = library
