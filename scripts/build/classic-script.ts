/** Classic scripts: the modules that esbuild writes, as scripts for the program loader. V8 keeps compiled functions of scripts alone. */
import { init, parse } from 'es-module-lexer'

await init

/** `{ a, b as c }` as a pattern. */
function pattern(names: string): string {
  return names.replaceAll(/(\S+) as (\S+)/g, '$1: $2')
}

function unfit(what: string): Error {
  return new Error(`a bundle has ${what} in a form that no script can have`)
}

/** The `require` for an import statement as esbuild prints it. */
function requireOf(statement: string, specifier: string): string {
  if (!statement.startsWith('import')) throw unfit('exports')
  const call = `require(${JSON.stringify(specifier)})`
  const clause = /^import\s+([\s\S]*?)\s*from\s/.exec(statement)?.[1]
  if (clause === undefined) return call
  const [, name, rest = ''] = /^(?:([\w$]+)\s*,?\s*)?([\s\S]*)$/.exec(clause) ?? []
  const patterns = [
    ...(name === undefined ? [] : [specifier.startsWith('node:') ? name : `{ default: ${name} }`]),
    ...(rest === '' ? [] : [pattern(rest.replace(/^\*\s+as\s+/, ''))]),
  ]
  return `const ${patterns.map((one) => `${one} = ${call}`).join(', ')}`
}

/** `export { a as b }` and `export default …`, as assignments. */
function withAssignedExports(text: string): string {
  return text
    .replaceAll(/^export (\{[^}]*\});?$/gm, (_, names: string) => {
      const properties = names.replaceAll(/(\S+) as ([^\s,]+)/g, '$2: $1')
      return `Object.assign(exports, ${properties});`
    })
    .replaceAll(/^export default /gm, 'exports.default = ')
}

/**
 * The body of a strict function of `exports`, `require`, `importScript` (in the place of `import()` for other scripts) and `importMeta`.
 * Exports are assigned once, at the end. Throws for what a script cannot have: exports that change later, or other module syntax.
 */
export function classicScript(module: string): string {
  const [imports] = parse(module)
  if (/= __esm\(\{$/m.test(module)) throw unfit('exports that change later')
  let text = module
  for (const { n: specifier, ss, se, d } of imports.toReversed()) {
    const statement = text.slice(ss, se)
    let replaced = statement
    if (d === -2) replaced = 'importMeta'
    else if (d === -1) replaced = requireOf(statement, specifier ?? '')
    else if (specifier?.startsWith('.') === true) replaced = `importScript${statement.slice(6)}`
    text = `${text.slice(0, ss)}${replaced}${text.slice(se)}`
  }
  text = withAssignedExports(text)
  const left = parse(text)
  if (left[1].length > 0 || left[0].some(({ d }) => d < 0)) {
    throw unfit('imports or exports')
  }
  return text
}
