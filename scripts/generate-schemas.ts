/** Makes `components/api/generated/` from the tables in `components/api/*.tsv`. Run it with plain `node`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { descriptionsModule } from './schemas/descriptions.ts'
import { readTables } from './schemas/tables.ts'
import { schemaDataModule } from './schemas/schema-data.ts'
import { typesModule } from './schemas/types.ts'

const root = join(import.meta.dirname, '..', 'components', 'api')

/** File name -> text, for every generated file. */
export function generateSchemas(): Map<string, string> {
  const tables = readTables(root)
  return new Map([
    ['schema-data.ts', schemaDataModule(tables)],
    ['types.ts', typesModule(tables)],
    ['descriptions.ts', descriptionsModule(tables)],
  ])
}

if (import.meta.main) {
  const folder = join(root, 'generated')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of generateSchemas()) writeFileSync(join(folder, name), text)
}
