import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { generateSchemas } from '../../scripts/generate-schemas.ts'

test('the generated files are what the tables make', () => {
  const files = generateSchemas()
  expect([...files.keys()]).toEqual(['schema-data.ts', 'types.ts', 'descriptions.ts'])
  for (const [name, text] of files) {
    const path = new URL(`../../components/api/generated/${name}`, import.meta.url)
    expect(
      readFileSync(path, 'utf8') === text,
      `${name} is stale: run scripts/generate-schemas.ts`,
    ).toBe(true)
  }
})
