# Made by npm run generate. Do not edit.
