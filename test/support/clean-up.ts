/** Set-up of every test file: what it made in the temporary folder goes when it ends, after all of its own hooks. */
import { afterAll } from 'vitest'
import { removeTemporaryFolders } from './temporary-folder.ts'

afterAll(removeTemporaryFolders)
