/** The overloads of every function, for the checker. */
import { celEnv, type CelType as RuntimeType } from '@bufbuild/cel'
import { extensionOverloads, stringFunctions } from './cel-extensions.ts'
import type { Overload } from './cel-library.ts'
import {
  bool,
  bytes,
  double,
  duration,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  string,
  timestamp,
  typeType,
  uint,
  type CelType,
} from './cel-types.ts'

const basicTypes: Readonly<Record<string, CelType>> = {
  int,
  uint,
  double,
  bool,
  string,
  bytes,
  null_type: nullType,
  dyn,
  type: typeType,
  'google.protobuf.Timestamp': timestamp,
  'google.protobuf.Duration': duration,
}

function fromRuntime(type: RuntimeType): CelType {
  if (type.kind === 'list') return listOf(fromRuntime(type.element))
  if (type.kind === 'map') return mapOf(fromRuntime(type.key), fromRuntime(type.value))
  return basicTypes[type.name] ?? dyn
}

function allOverloads(): ReadonlyMap<string, readonly Overload[]> {
  const all = new Map<string, Overload[]>()
  const add = (overload: Overload): void => {
    const list = all.get(overload.name)
    if (list === undefined) all.set(overload.name, [overload])
    else list.push(overload)
  }
  for (const func of celEnv({ funcs: [...stringFunctions] }).funcs) {
    add({
      name: func.name,
      target: func.target && fromRuntime(func.target),
      arguments: func.arguments.map(fromRuntime),
      // `split` is declared as a list of anything, but returns strings.
      result: func.name === 'split' ? listOf(string) : fromRuntime(func.result),
    })
  }
  for (const overload of extensionOverloads) add(overload)
  return all
}

const overloads = allOverloads()

/** The overloads of a function: the language's, the string functions', and ours. */
export function overloadsOf(name: string): readonly Overload[] | undefined {
  return overloads.get(name)
}
