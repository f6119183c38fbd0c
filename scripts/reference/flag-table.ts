/** The table of a set of flags. */
import { formatDuration } from '../../components/component-base/flags.ts'
import type {
  Flag,
  FlagDeclarations,
  FlagType,
  FlagTypes,
} from '../../components/component-base/flags.ts'
import { code, codes, escaped, table } from './markdown.ts'

function defaultText({ type, default: value }: Flag): string {
  const given: FlagTypes[FlagType] | undefined = value
  if (given === undefined || given === '') return '–'
  if (type === 'duration') return code(formatDuration(Number(given)))
  if (typeof given !== 'object') return code(String(given))
  const items = Array.isArray(given)
    ? given
    : Object.entries(given).map(([key, one]) => `${key}=${String(one)}`)
  return items.length === 0 ? '–' : code(items.join(','))
}

function typeText({ type, choices }: Flag): string {
  return choices === undefined ? type : codes(choices)
}

function descriptionText({ description, deprecated, hidden, least, type }: Flag): string {
  // What follows the first line are lists, which have pages of their own.
  const [first = ''] = description.split('\n')
  const notes = [
    ...(least === undefined
      ? []
      : [`At least ${type === 'duration' ? formatDuration(least) : least}.`]),
    ...(hidden === true ? ['Not shown by `--help`.'] : []),
    ...(deprecated === undefined ? [] : [`**Deprecated:** ${escaped(deprecated)}`]),
  ]
  return [escaped(first), ...notes].join(' ')
}

/** All flags, hidden ones too, in order of declaration. */
export function flagTable(declarations: FlagDeclarations): string {
  return table(
    ['flag', 'value', 'default', 'description'],
    Object.entries(declarations).map(([name, declared]) => [
      code(`--${name}`),
      typeText(declared),
      defaultText(declared),
      descriptionText(declared),
    ]),
  )
}
