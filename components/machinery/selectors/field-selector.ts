/** Field selectors: parse the query form, check it against a resource, match, print (upstream: apimachinery pkg/fields). */
import { maxSelectorLength } from './label-selector.ts'
import { getOwn } from '../values/json-copy.ts'
import type { FieldSelectorRules, Resource } from '../objects/resource.ts'
import { badRequest } from '../objects/status-error.ts'

export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** All requirements must hold. The empty list selects everything. */
export type FieldSelector = readonly FieldRequirement[]

/** Parses the query form; throws a BadRequest StatusError with upstream's message. Fields are not checked yet. */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.length > maxSelectorLength) {
    throw badRequest(`field selector is longer than ${maxSelectorLength} characters`)
  }
  return splitTerms(text)
    .filter((term) => term !== '')
    .map((term) => {
      const found = splitTerm(term)
      if (found === undefined) {
        throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
      }
      return found
    })
}

/** Checks that the resource can be selected by every field named; returns the selector in the fields' current names. */
export function checkFieldSelector(
  selector: FieldSelector,
  resource: Pick<Resource, 'selectableFields' | 'namespaced'>,
  { formerNames, isGeneric }: FieldSelectorRules,
): FieldSelector {
  return selector.map((requirement) => {
    const field = getOwn(formerNames, requirement.field) ?? requirement.field
    if (field === 'metadata.name' || resource.selectableFields.includes(field)) {
      return { ...requirement, field }
    }
    if (isGeneric) {
      if (field === 'metadata.namespace') return requirement
      throw badRequest(
        `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
      )
    }
    if (field === 'metadata.namespace' && resource.namespaced) return requirement
    throw badRequest(`field label not supported: ${field}`)
  })
}

/** `valueOf` gives a field's text; '' for an absent one. */
export function matchesFields(
  selector: FieldSelector,
  valueOf: (field: string) => string,
): boolean {
  for (const { field, operator, value } of selector) {
    if ((valueOf(field) === value) !== (operator === '=')) return false
  }
  return true
}

/** The value that the selector demands of a field, if it demands one. */
export function exactFieldMatch(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === '=')
    ?.value
}

/** The query form; parsing it gives the same requirements. */
export function formatFieldSelector(selector: FieldSelector): string {
  return selector
    .map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`)
    .join(',')
}

/** Escapes what has a meaning in the query form. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`)
}

/** Requirements as access reviews carry them. */
export function fieldReviewRequirements(
  selector: FieldSelector,
): { key: string; operator: string; values: readonly string[] }[] {
  return selector.map(({ field, operator, value }) => ({
    key: field,
    operator: operator === '=' ? 'In' : 'NotIn',
    values: [value],
  }))
}

/** Splits at commas that no backslash escapes; escapes stay as they are. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === ',') {
      terms.push(text.slice(start, at))
      start = at + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

function splitTerm(term: string): FieldRequirement | undefined {
  for (let at = 0; at < term.length; at++) {
    const mark = ['!=', '==', '='].find((candidate) => term.startsWith(candidate, at))
    if (mark === undefined) continue
    return {
      field: term.slice(0, at),
      operator: mark === '!=' ? '!=' : '=',
      value: unescape(term.slice(at + mark.length)),
    }
  }
  return undefined
}

function unescape(value: string): string {
  let plain = ''
  for (let at = 0; at < value.length; at++) {
    const character = value[at] ?? ''
    if (character === '\\') {
      const escaped = value[++at]
      if (escaped === undefined || !'\\,='.includes(escaped)) {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${escaped ?? ''}`)
      }
      plain += escaped
    } else if (character === ',' || character === '=') {
      // Upstream prints the character's number here.
      throw badRequest(
        `invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`,
      )
    } else plain += character
  }
  return plain
}
